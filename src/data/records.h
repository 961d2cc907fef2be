// Rows of delimited fields (RFC 4180), as CSV files and the data part of ARFF files hold them.
// Internal to src/data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/table.h"

namespace kalstream::reading {

/// The candidate that the text's first line has most of, outside quotes; `otherwise` if none.
char detect_delimiter(std::string_view text, char comment, std::string_view candidates,
                      char otherwise);

/// Walks through a text record by record; blank lines and comment lines are skipped. The fields
/// are views of the text, so that reading a row allocates nothing.
class Records {
 public:
  struct Format {
    char delimiter;  ///< ' ': any run of blanks
    char comment;    ///< a line that starts with it is none
  };

  /// `text` is (the rest of) the file's text; `lines_before` the number of lines in front of it.
  Records(const TextFile& file, std::string_view text, std::size_t lines_before, Format format);

  bool next();
  const std::vector<std::string_view>& fields() const { return fields_; }  ///< trimmed, quotes kept
  std::size_t line() const { return line_; }  ///< where the record starts, 1-based

  const std::string& path() const { return path_; }

 private:
  bool at_line_end() const { return at_ == end_ || *at_ == '\n'; }
  bool blanks_delimit() const { return format_.delimiter == ' '; }
  bool ends_field(char c) const;
  void skip_blanks();
  void skip_line();
  void skip_quotes();
  void read_field();
  void read_fields();

  const std::string& path_;
  const char* at_;
  const char* end_;
  std::size_t at_line_;
  Format format_;
  std::size_t line_ = 0;
  std::vector<std::string_view> fields_;
};

/// What is between a field's quotes; doubled quotes are left as they are.
std::string_view unquoted(std::string_view field);

/// Appends the current record, whose fields must be numbers or missing, one per column.
void append_row(const Records& records, Table& table);

}  // namespace kalstream::reading
