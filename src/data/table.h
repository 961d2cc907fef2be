// What the file formats hand to the reader, and the few things they share. Internal to src/data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream::reading {

struct TextFile {
  std::string path;  ///< as the user gave it
  std::string text;  ///< without a byte order mark; of a MAT file, its bytes
};

/// All columns of a file in their order; which ones are targets is the reader's business.
struct Table {
  std::vector<std::string> columns;
  std::vector<double> values;       ///< rows() × columns.size(), row after row; NaN: missing
  std::vector<std::size_t> lines;   ///< of each row, 1-based
  std::size_t default_targets = 1;  ///< so many of the last columns, unless the user chooses

  std::size_t rows() const { return lines.size(); }
};

// The formats. Each stops after `limit` rows; a file without rows gives a table without rows.

/// `delimiters` are the candidates; where the file's first line has none of them, blanks separate
/// the fields if `or_blanks` is set, and the first candidate otherwise.
Table read_csv(const TextFile& file, std::string_view delimiters, bool or_blanks,
               std::size_t limit);
Table read_jsonl(const TextFile& file, std::size_t limit);
Table read_arff(const TextFile& file, std::size_t limit);
Table read_mat(const TextFile& file, std::size_t limit);

/// "x1", "x2", …, for columns that have no name of their own.
std::string column_name(std::size_t index, char letter = 'x');

// Text.

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
std::string_view trim(std::string_view text);
std::string lower_case(std::string_view text);

/// The lines of a text that are neither blank nor a comment, trimmed.
class Lines {
 public:
  Lines(std::string_view text, char comment) : rest_(text), comment_(comment) {}

  bool next();
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }   ///< of line(), 1-based
  std::string_view rest() const { return rest_; }  ///< what follows line()

 private:
  std::string_view rest_;
  std::string_view line_;
  std::size_t number_ = 0;
  char comment_;
};

// Numbers.

enum class CellKind { number, missing, out_of_range, text };

struct Cell {
  CellKind kind;
  double value;  ///< NaN unless kind is number
};

/// The whole of `text` as a number, whatever the locale; blanks around it and a '+' are allowed.
Cell parse_cell(std::string_view text);

// Errors, thrown as DataError.

/// "PATH:LINE: message", or "PATH: message" when line is 0.
[[noreturn]] void fail(std::string_view path, std::size_t line, std::string_view message);

/// Of a cell that is text or out of range.
[[noreturn]] void fail_cell(std::string_view path, std::size_t line, std::string_view column,
                            std::string_view text, CellKind kind, std::string_view remedy);

/// Text from a file, cut short and freed of control characters, between a pair of marks.
std::string shown(std::string_view text, char mark = '"');

}  // namespace kalstream::reading
