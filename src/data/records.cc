#include "data/records.h"

#include <algorithm>

namespace kalstream::reading {
namespace {

std::size_t count_outside_quotes(std::string_view line, char wanted) {
  std::size_t count = 0;
  bool inside = false;
  for (char c : line) {
    if (c == '"') inside = !inside;
    if (c == wanted && !inside) ++count;
  }
  return count;
}

[[noreturn]] void fail_ragged(const Records& records, std::size_t columns) {
  fail(records.path(), records.line(),
       "the row has " + std::to_string(records.fields().size()) + " fields, but there are " +
           std::to_string(columns) +
           " columns; complete the row (an empty field marks a missing value) or remove it");
}

bool has_decimal_comma(std::string_view text) {
  std::string with_point(text);
  std::ranges::replace(with_point, ',', '.');
  return with_point != text && parse_cell(with_point).kind == CellKind::number;
}

[[noreturn]] void fail_field(const Records& records, std::string_view column, std::string_view text,
                             CellKind kind) {
  fail_cell(records.path(), records.line(), column, text, kind,
            has_decimal_comma(text) ? "write decimals with a point"
                                    : "remove the row or leave the field empty to mark it missing");
}

}  // namespace

char detect_delimiter(std::string_view text, char comment, std::string_view candidates,
                      char otherwise) {
  Lines lines(text, comment);
  if (!lines.next()) return otherwise;
  std::size_t most = 0;
  char delimiter = otherwise;
  for (char candidate : candidates) {
    const std::size_t count = count_outside_quotes(lines.line(), candidate);
    if (count > most) {
      most = count;
      delimiter = candidate;
    }
  }
  return delimiter;
}

Records::Records(const TextFile& file, std::string_view text, std::size_t lines_before,
                 Format format)
    : path_(file.path),
      at_(text.data()),
      end_(text.data() + text.size()),
      at_line_(lines_before + 1),
      format_(format) {}

bool Records::next() {
  while (at_ != end_) {
    line_ = at_line_;
    skip_blanks();
    const bool content = !at_line_end() && *at_ != format_.comment;
    if (content) read_fields();
    skip_line();
    if (content) return true;
  }
  return false;
}

bool Records::ends_field(char c) const {
  return c == format_.delimiter || c == '\n' || (blanks_delimit() && c == '\t');
}

void Records::skip_blanks() {
  while (at_ != end_ && is_blank(*at_) && (*at_ != format_.delimiter || blanks_delimit())) ++at_;
}

void Records::skip_line() {
  at_ = std::find(at_, end_, '\n');
  if (at_ != end_) ++at_;
  ++at_line_;
}

/// Quotes may span lines; a doubled quote stands for one and does not close the field.
void Records::skip_quotes() {
  const char* const opening = at_;
  do {
    at_ = std::find(at_ + 1, end_, '"');
    if (at_ == end_)
      fail(path_, at_line_, "a quote is opened and never closed; close or remove it");
    ++at_;
  } while (at_ != end_ && *at_ == '"');
  at_line_ += static_cast<std::size_t>(std::count(opening, at_, '\n'));
}

void Records::read_field() {
  skip_blanks();
  const char* const begin = at_;
  if (at_ != end_ && *at_ == '"') skip_quotes();
  while (at_ != end_ && !ends_field(*at_)) ++at_;
  fields_.push_back(trim({begin, at_}));
}

void Records::read_fields() {
  fields_.clear();
  while (true) {
    read_field();
    skip_blanks();
    if (at_line_end()) return;
    if (!blanks_delimit()) ++at_;
  }
}

std::string_view unquoted(std::string_view field) {
  const bool quotes = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quotes ? field.substr(1, field.size() - 2) : field;
}

void append_row(const Records& records, Table& table) {
  const std::size_t columns = table.columns.size();
  if (records.fields().size() != columns) fail_ragged(records, columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::string_view text = unquoted(records.fields()[c]);
    const Cell cell = parse_cell(text);
    if (cell.kind == CellKind::text || cell.kind == CellKind::out_of_range)
      fail_field(records, table.columns[c], text, cell.kind);
    table.values.push_back(cell.value);
  }
  table.lines.push_back(records.line());
}

}  // namespace kalstream::reading
