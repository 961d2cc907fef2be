// From a line of text to a record, whatever it is written in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lines/delimited.h"
#include "lines/json_record.h"
#include "schema/arrival.h"
#include "schema/dialect.h"
#include "schema/record.h"
#include "schema/value.h"

namespace kalstream {

/// Reads line after line: JSON objects or arrays, or delimited text with or without a header. The
/// first lines settle which, what delimits and what the decimal sign is; a line that contradicts
/// them is refused. docs/data.md has the rules.
class RecordReader {
 public:
  /// `dialect` is what is known already: all of it, as it was when another reader stopped, or the
  /// format alone. `columns` are the names of delimited text whose header is not seen.
  explicit RecordReader(Dialect dialect = {}, std::vector<std::string> columns = {});

  /// `line` comes without its end. False for one that says nothing: blank, a comment, a header.
  /// Throws DataError, without a place, for one that cannot be read; that changes nothing.
  bool read(std::string_view line, Record& record);

  /// The same into an arrival, which says why a line cannot be read.
  void read(std::string_view line, Arrival& arrival) {
    arrival.is_problem = false;
    try {
      if (!read(line, arrival.record)) arrival.record.clear();
    } catch (const DataError& error) {
      arrival.is_problem = true;
      arrival.problem = error.what();
    }
  }

  const Dialect& dialect() const { return dialect_; }
  /// What lines say no longer depends on those before them, as long as the dialect stays the same:
  /// a copy of the reader reads them as well.
  bool is_settled() const {
    const bool arrays = dialect_.format == Format::json && !dialect_.columns.empty();
    return !first_ && (begun_ || objects_ || arrays);
  }

  /// Longer lines are refused.
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

 private:
  bool is_json(std::string_view line) const {
    if (dialect_.format != Format::unknown) return dialect_.format == Format::json;
    return line.front() == '{' || line.front() == '[';
  }
  void settle_json(const Record& record);

  // While the columns are not sure.
  bool begin(std::string_view line, Record& record);
  bool begin_anew(std::string_view line, Record& record);
  bool is_header(std::string_view line);
  bool begins_with_row_name() const;

  // Once they are.
  bool read_delimited(std::string_view line, Record& record);
  bool read_blank(std::string_view line, Record& record);
  bool is_header_again();
  [[noreturn]] void fail_ragged() const;
  void add_row(Record& record);
  char first_decimal() const;
  bool is_list_like(const delimited::Cell& cell) const;
  void refuse_other_sign(const delimited::Cell& cell, char decimal, std::size_t column) const;

  Dialect dialect_;
  bool given_ = false;    // the columns are the user's
  bool begun_ = false;    // a record with a number has come: nothing is open any more
  bool objects_ = false;  // of JSON
  bool first_ = true;
  delimited::Cells cells_;  // of this line
  JsonLines json_;
};

}  // namespace kalstream
