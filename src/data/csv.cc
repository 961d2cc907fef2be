// Delimited text, with or without a header.
#include <algorithm>

#include "data/records.h"

namespace kalstream::reading {
namespace {

constexpr char csv_comment = '#';

bool is_text(std::string_view field) { return parse_cell(unquoted(field)).kind == CellKind::text; }

std::string header_name(std::string_view field, std::size_t index) {
  std::string name(unquoted(field));
  if (name.empty()) return column_name(index);
  if (name.size() < field.size())  // It was quoted.
    for (std::size_t at = 0; (at = name.find("\"\"", at)) != std::string::npos; ++at)
      name.erase(at, 1);
  return name;
}

/// Names may be numbers (0, 1, 2, as tools write them), but a row of measurements with one bad cell
/// must not pass for a header.
bool is_measurement(std::string_view field) {
  return parse_cell(unquoted(field)).kind == CellKind::number &&
         unquoted(field).find_first_not_of("0123456789") != std::string_view::npos;
}

}  // namespace

Table read_csv(const TextFile& file, std::string_view delimiters, bool or_blanks,
               std::size_t limit) {
  const char otherwise = or_blanks ? ' ' : delimiters.front();
  const char delimiter = detect_delimiter(file.text, csv_comment, delimiters, otherwise);
  Records records(file, file.text, 0, {delimiter, csv_comment});

  Table table;
  if (!records.next()) return table;
  const auto& first = records.fields();
  const auto text = std::ranges::find_if(first, is_text);
  const bool header = text != first.end();
  if (header && std::ranges::any_of(first, is_measurement))
    fail(file.path, records.line(),
         shown(unquoted(*text), '\'') +
             " stands among numbers in the first row, which is neither a header nor data; name all "
             "columns, or correct the field");
  for (std::size_t c = 0; c < first.size(); ++c)
    table.columns.push_back(header ? header_name(first[c], c) : column_name(c));
  if (!header) append_row(records, table);
  while (table.rows() < limit && records.next()) append_row(records, table);
  return table;
}

}  // namespace kalstream::reading
