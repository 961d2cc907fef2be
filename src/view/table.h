// Text people read: numbers, and tables for terminals, Markdown and HTML.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream::view {

// Numbers.

/// So many significant digits or more, zeros at the end kept: "0.01230", "1.230e-5", "123456";
/// NaN is "n/a".
std::string format_number(double value, int digits = 4);

/// "250 µs", "1.2 s", "1 m 12 s", "2 h 5 m", "3 d 4 h".
std::string format_seconds(double seconds);

/// Three significant digits from a thousand on: "999", "12.3 k", "4.56 M".
std::string format_count(double count);

/// "1 row", "3 rows".
std::string plural(std::size_t n, std::string_view what);

// UTF-8.

/// Bytes of the code point `text` begins with; 0 where it is empty or not valid UTF-8.
std::size_t code_point_length(std::string_view text);

/// Columns on a terminal: one per code point, none for a combining accent as in "d̂".
std::size_t display_width(std::string_view text);

/// `text`, or as much of its beginning as fits into `width` columns together with "…".
std::string shorten(std::string_view text, std::size_t width);

/// A blank for each line break, tab or other control character.
std::string one_line(std::string_view text);

/// `text` on one line for Markdown that shows it as it is, with a backslash only where there must
/// be one.
std::string escape_markdown(std::string_view text);

// Tables.

enum class Align { left, right };

struct Column {
  std::string header = {};
  Align align = Align::right;
};

/// Columns of texts, then of numbers.
std::vector<Column> columns(std::initializer_list<const char*> texts,
                            std::initializer_list<const char*> numbers);

/// A header over neighbouring columns.
struct ColumnGroup {
  std::string header = {};  ///< empty: the columns stand alone
  std::size_t columns = 1;
};

struct Cell {
  Cell(std::string cell_text, bool is_best = false)  // NOLINT: a text is a cell.
      : text(std::move(cell_text)), best(is_best) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT: so is a literal.

  std::string text;
  bool best = false;  ///< shown bold
};

inline Cell best(std::string text) { return {std::move(text), true}; }

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// From the first column on; columns left over stand alone. Text for terminals does not show
  /// them; Markdown has no such headers: there "NSE" of the group "kin8nm" is "kin8nm NSE".
  void set_groups(std::vector<ColumnGroup> groups);

  /// Missing cells at the end stay empty.
  void add_row(std::vector<Cell> cells);

  /// A thin line between the rows before and after; Markdown has none.
  void add_rule();

  /// For a terminal. Without colours there are no escape sequences, and the best are not marked.
  std::string to_text(bool colours = false) const;
  std::string to_markdown() const;

  /// A table element. Classes, all without a style of their own: right; key for the first
  /// column; start for the first column of a group. Each rule begins a new tbody.
  std::string to_html() const;

 private:
  std::string html_header() const;
  std::string html_class(std::size_t column) const;

  std::vector<Column> columns_;
  std::vector<ColumnGroup> groups_;      // none, or of all columns
  std::vector<std::vector<Cell>> rows_;  // an empty row is a rule
};

}  // namespace kalstream::view
