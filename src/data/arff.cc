// Weka's attribute-relation files, as far as they are numeric and dense.
#include <algorithm>
#include <array>

#include "data/records.h"

namespace kalstream::reading {
namespace {

constexpr char arff_comment = '%';

/// Cuts the next word off `rest`: what is between quotes, or what precedes a blank or a bracket.
std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const bool quotes = !rest.empty() && (rest.front() == '\'' || rest.front() == '"');
  const std::size_t begin = quotes ? 1 : 0;
  const std::size_t end =
      std::min(quotes ? rest.find(rest.front(), 1) : rest.find_first_of(" \t{["), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(std::min(end + begin, rest.size()));
  return word;
}

/// `rest` is what follows the keyword @attribute; returns the attribute's name.
std::string numeric_attribute(const TextFile& file, std::size_t line, std::string_view rest) {
  constexpr std::array<std::string_view, 3> numeric = {"numeric", "real", "integer"};
  std::string name(take_word(rest));
  const std::string_view type = trim(rest);
  if (name.empty() || type.empty())
    fail(file.path, line, "the attribute has no name or no type; write @attribute NAME numeric");
  if (type.front() == '{')
    fail(file.path, line,
         "attribute " + shown(name) + " is nominal; encode it as numbers, for example as one " +
             "0/1 attribute per value, or remove it");
  const std::string_view word = take_word(rest);
  if (std::ranges::find(numeric, lower_case(word)) == numeric.end())
    fail(file.path, line,
         "attribute " + shown(name) + " has the type " + shown(word, '\'') +
             ", which is not a number; encode it as numeric or remove it");
  return name;
}

/// Leaves `lines` at the @data line, or at the end of a file that has none.
std::vector<std::string> read_attributes(const TextFile& file, Lines& lines) {
  std::vector<std::string> names;
  while (lines.next()) {
    std::string_view rest = lines.line();
    const std::string keyword = lower_case(take_word(rest));
    if (keyword == "@data") break;
    if (keyword == "@relation") continue;
    if (keyword != "@attribute")
      fail(file.path, lines.number(),
           shown(lines.line(), '\'') +
               " is not part of an ARFF header; write @relation, @attribute or @data");
    names.push_back(numeric_attribute(file, lines.number(), rest));
  }
  return names;
}

}  // namespace

Table read_arff(const TextFile& file, std::size_t limit) {
  Lines lines(file.text, arff_comment);
  Table table;
  table.columns = read_attributes(file, lines);

  const char delimiter = detect_delimiter(lines.rest(), arff_comment, ",\t", ',');
  Records records(file, lines.rest(), lines.number(), {delimiter, arff_comment});
  while (table.rows() < limit && records.next()) {
    if (records.fields().front().starts_with('{'))
      fail(file.path, records.line(),
           "sparse rows are not supported; write all values of a row, separated by commas");
    append_row(records, table);
  }
  return table;
}

}  // namespace kalstream::reading
