#include "lines/record_reader.h"

#include <algorithm>

#include "schema/value.h"

namespace kalstream {
namespace {

using delimited::Cell;

bool is_number_by(std::string_view text, char decimal) {
  Value value;
  interpret(text, decimal, value);
  return value.kind == Value::Kind::number;
}

/// The decimal sign that a cell shows by being a number; 0 if it shows none.
char decimal_in(const Cell& cell) {
  for (const char sign : {'.', ','})
    if (cell.text.find(sign) != cell.text.npos && is_number_by(cell.text, sign)) return sign;
  return 0;
}

std::string word_for(char delimiter) {
  if (delimiter == '\t') return "tabs";
  if (delimiter == ' ') return "blanks";
  return delimiter == 0 ? "nothing" : '\'' + std::string(1, delimiter) + '\'';
}

bool same_names(std::vector<std::string> a, std::vector<std::string> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

std::vector<std::string> numbered(std::size_t columns) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < columns; ++c) names.push_back(field_name(c));
  return names;
}

}  // namespace

RecordReader::RecordReader(Dialect dialect, std::vector<std::string> columns)
    : dialect_(std::move(dialect)), given_(!columns.empty()) {
  begun_ = dialect_.format == Format::delimited && !dialect_.columns.empty();
  if (given_ && !begun_) dialect_.columns = std::move(columns);
}

bool RecordReader::read(std::string_view line, Record& record) {
  record.clear();
  if (line.size() > longest_line)
    throw DataError("the line is longer than " + std::to_string(longest_line) +
                    " bytes; write less in one line");
  if (first_) {
    if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff"))
      throw DataError("the text is encoded as UTF-16; save it as UTF-8");
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    first_ = false;
  }
  const std::string_view content = trim(line);
  if (content.empty()) return read_blank(line, record);
  if (content.front() == '#') return false;
  if (is_json(content)) {
    json_.read(content, record);
    settle_json(record);
    return true;
  }
  if (begun_) return read_delimited(line, record);
  Dialect before = dialect_;
  try {
    return begin(line, record);
  } catch (const DataError&) {
    dialect_ = std::move(before);
    throw;
  }
}

// ---- JSON.

// The first record settles whether there are objects or arrays, and how long these are.
void RecordReader::settle_json(const Record& record) {
  const std::size_t fields = record.fields().size();
  const std::size_t columns = dialect_.format == Format::json ? dialect_.columns.size() : 0;
  if (fields == 0) throw DataError("the line has no values; write one object or array per line");
  if (record.is_row ? objects_ : columns > 0)
    throw DataError("objects and arrays are mixed; write either");
  if (columns > 0 && fields != columns)
    throw DataError("the array has " + std::to_string(fields) + " values, but the first had " +
                    std::to_string(columns) + "; write as many, with null for a missing one");
  objects_ = !record.is_row;
  if (dialect_.format == Format::json && (objects_ || columns > 0)) return;
  dialect_ = {.format = Format::json};
  if (record.is_row) dialect_.columns = numbered(fields);
}

// ---- Delimited text: its first lines.

/// A blank line is a missing value where that is all a line could hold.
bool RecordReader::read_blank(std::string_view line, Record& record) {
  if (!begun_) return false;
  const bool has_cells = dialect_.delimiter == '\t' && line.find('\t') != line.npos;
  return (dialect_.columns.size() == 1 || has_cells) && read_delimited(line, record);
}

/// Until a record with a number has come, any line may turn out to be a header, or the one before
/// it not to be one.
bool RecordReader::begin(std::string_view line, Record& record) {
  std::vector<std::string>& columns = dialect_.columns;
  if (columns.empty()) return begin_anew(line, record);
  if (given_ && dialect_.delimiter == 0 && columns.size() > 1)
    dialect_.delimiter = delimited::data_delimiter(line, columns.size()).delimiter;
  delimited::split(line, dialect_.delimiter, cells_);
  const bool may_be_row = dialect_.delimiter != 0 || given_ || is_value(cells_.front());
  if (cells_.size() == columns.size() && may_be_row) return read_delimited(line, record);
  if (given_) fail_ragged();

  const char delimiter = dialect_.delimiter;
  const bool blank_names = delimiter == ' ' && dialect_.header;
  if (blank_names && cells_.size() == 1 && is_value(cells_.front())) {  // "Temperature in C"
    for (std::size_t c = 1; c < columns.size(); ++c) columns[0] += ' ' + columns[c];
    columns.resize(1);
    dialect_.delimiter = 0;
    add_row(record);
    return true;
  }
  if (delimiter == 0) {
    dialect_.delimiter = delimited::data_delimiter(line).delimiter;
    delimited::split(line, dialect_.delimiter, cells_);
    if (cells_.size() == 1) return read_delimited(line, record);  // a text
  }
  if (dialect_.header && cells_.size() == columns.size() + 1 && begins_with_row_name()) {
    columns.insert(columns.begin(), "");
    add_row(record);
    return true;
  }
  const bool was_hard = dialect_.header && delimiter != 0 && delimiter != ' ';
  if (was_hard && !is_header(line)) {
    delimited::split(line, delimiter, cells_);
    fail_ragged();
  }
  return begin_anew(line, record);  // What came before was but a title.
}

/// Splits the line as a header would be.
bool RecordReader::is_header(std::string_view line) {
  delimited::split(line, delimited::header_delimiter(line), cells_);
  const bool unnamed_first = cells_.front().text.empty();
  return delimited::are_names(cells_) &&
         (unnamed_first || delimited::data_delimiter(line).share < 1);
}

bool RecordReader::begin_anew(std::string_view line, Record& record) {
  const bool header = is_header(line);
  dialect_ = {.format = dialect_.format, .header = header};
  if (header) {
    dialect_.delimiter = delimited::header_delimiter(line);
    dialect_.columns = delimited::distinct_names(cells_);
    return false;
  }
  const delimited::Guess guess = delimited::data_delimiter(line);
  if (!delimited::may_be_row(guess)) return false;
  dialect_.delimiter = guess.delimiter;
  delimited::split(line, dialect_.delimiter, cells_);
  dialect_.columns = numbered(cells_.size());
  add_row(record);
  return true;
}

/// R writes the names of rows in front of them and gives them none in the header. They are quoted,
/// or text, or counted from 1; between commas that last one could as well be half a number.
bool RecordReader::begins_with_row_name() const {
  const Cell& first = cells_.front();
  const bool counted =
      first.text == "1" && (dialect_.delimiter == ' ' || dialect_.delimiter == '\t');
  return !cells_.back().text.empty() && (first.quoted || counted || !is_value(first));
}

// ---- Delimited text: all that follows.

bool RecordReader::read_delimited(std::string_view line, Record& record) {
  delimited::split(line, dialect_.delimiter, cells_);
  if (is_header_again()) return false;
  if (cells_.size() != dialect_.columns.size()) fail_ragged();
  add_row(record);
  return true;
}

/// A header may come again, as after a log's rotation, and with its columns in another order.
bool RecordReader::is_header_again() {
  std::vector<std::string>& columns = dialect_.columns;
  if (!dialect_.header && !given_) return false;
  const auto is_first = [&](const std::string& name) { return name == cells_.front().text; };
  const bool row_names = cells_.size() + 1 == columns.size() && columns.front().empty();
  if ((cells_.size() != columns.size() && !row_names) || std::ranges::none_of(columns, is_first) ||
      !delimited::are_names(cells_))
    return false;
  std::vector<std::string> names = delimited::distinct_names(cells_);
  if (row_names) names.insert(names.begin(), "");
  if (!same_names(names, columns)) return false;
  columns = std::move(names);
  return true;
}

void RecordReader::fail_ragged() const {
  throw DataError("the row has " + std::to_string(cells_.size()) + " fields, but there are " +
                  std::to_string(dialect_.columns.size()) +
                  " columns; complete the row (an empty field marks a missing value) or remove it; "
                  "fields are delimited by " +
                  word_for(dialect_.delimiter) + ", as the first lines have it");
}

void RecordReader::add_row(Record& record) {
  const char decimal = dialect_.decimal != 0 ? dialect_.decimal : first_decimal();
  const char sign = decimal == ',' ? ',' : '.';
  bool has_number = false;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    Value& value = record.add(dialect_.columns[c]);
    delimited::unquote(cells_[c], value.text);
    interpret(cells_[c].text, sign, value);
    has_number |= value.kind == Value::Kind::number;
    if (value.kind == Value::Kind::text && decimal != 0) refuse_other_sign(cells_[c], decimal, c);
  }
  record.is_row = true;
  record.named = dialect_.header || given_;
  dialect_.decimal = decimal;
  if (!has_number) return;
  dialect_.format = Format::delimited;
  begun_ = true;
}

/// Of the line's numbers. A list in quotes, "1,2", is one only if no other number tells otherwise.
char RecordReader::first_decimal() const {
  char in_quotes = 0;
  for (const Cell& cell : cells_) {
    const char sign = decimal_in(cell);
    if (sign != 0 && !is_list_like(cell)) return sign;
    if (in_quotes == 0) in_quotes = sign;
  }
  return in_quotes;
}

bool RecordReader::is_list_like(const Cell& cell) const {
  return dialect_.delimiter == ',' && cell.quoted && cell.text.find(',') != cell.text.npos;
}

void RecordReader::refuse_other_sign(const Cell& cell, char decimal, std::size_t column) const {
  if (is_list_like(cell)) return;  // text, unless it should have been a number: others will tell
  const char other = decimal_in(cell);
  if (other == 0 || other == decimal) return;
  const auto word = [](char sign) { return sign == ',' ? "comma" : "point"; };
  throw DataError(shown(cell.text, '\'') + " in column " + shown(dialect_.columns[column]) +
                  " has a decimal " + word(other) + ", but the numbers before it have a decimal " +
                  word(decimal) + "; write all numbers with the same");
}

}  // namespace kalstream
