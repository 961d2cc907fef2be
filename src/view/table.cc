#include "view/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "view/chart.h"

namespace kalstream::view {

// ---- Numbers ------------------------------------------------------------------------------------

namespace {

/// %g writes "1.000e-05" and "1234."; people do not.
std::string tidy(std::string number) {
  std::string exponent;
  if (const auto e = number.find('e'); e != std::string::npos) {
    exponent = "e" + std::to_string(std::stoi(number.substr(e + 1)));
    number.resize(e);
  }
  if (number.ends_with('.')) number.pop_back();
  return number + exponent;
}

/// `digits` significant digits of 0 ≤ value < 1000, without zeros after the point for whole values.
std::string short_decimal(double value, int digits) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  const int before_point = value >= 100 ? 3 : value >= 10 ? 2 : 1;
  return fmt::format("{:.{}f}", value, std::max(digits - before_point, 0));
}

std::string two_units(std::int64_t count, std::int64_t per_unit, const char* large,
                      const char* small) {
  return fmt::format("{} {} {} {}", count / per_unit, large, count % per_unit, small);
}

}  // namespace

std::string format_number(double value, int digits) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  // Below a million whole digits are all written, "1300" and not "1.30e3", and no others where
  // these are enough: from 999.95 on four digits have none after the point.
  const double whole = std::pow(10.0, std::max(digits, 1) - 1) - 0.05;
  if (std::abs(value) >= whole && std::abs(value) < 999999.5) return fmt::format("{:.0f}", value);
  return tidy(fmt::format("{:#.{}g}", value, std::max(digits, 1)));
}

std::string format_seconds(double seconds) {
  constexpr double longest = 1e12;
  if (!(seconds >= 0 && seconds <= longest)) return "n/a";
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return short_decimal(std::round(seconds * 1e7) / 10, 3) + " µs";
  if (seconds < 0.9995) return short_decimal(std::round(seconds * 1e4) / 10, 3) + " ms";
  if (seconds < 9.95) return short_decimal(std::round(seconds * 10) / 10, 2) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return two_units(whole, 60, "m", "s");
  if (whole < 86400) return two_units(whole / 60, 60, "h", "m");
  return two_units(whole / 3600, 24, "d", "h");
}

std::string format_count(double count) {
  if (!std::isfinite(count)) return format_number(count);
  if (std::abs(count) < 999.5) return fmt::format("{:.0f}", count);
  constexpr std::array units = {"k", "M", "G", "T"};
  std::size_t unit = 0;
  double scaled = count / 1000;
  // 999.5 and not 1000: what rounds to 1000 belongs to the next unit.
  for (; std::abs(scaled) >= 999.5 && unit + 1 < units.size(); ++unit) scaled /= 1000;
  const double size = std::abs(scaled);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, decimals, units[unit]);
}

std::string plural(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// ---- Text and tables ----------------------------------------------------------------------------

namespace {

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";
constexpr std::string_view kGap = "  ";

/// The accents of U+0300 … U+036F take no room of their own.
bool is_combining(std::string_view code_point) {
  return code_point >= "\xcc\x80" && code_point <= "\xcd\xaf";
}

/// The next code point, or the next byte where the text is not valid UTF-8.
std::string_view take_code_point(std::string_view& text) {
  const auto length = std::max<std::size_t>(code_point_length(text), 1);
  const auto taken = text.substr(0, length);
  text.remove_prefix(length);
  return taken;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Bytes of other alphabets count as letters.
bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

/// Whether Markdown, with GitHub's additions, could see more in `c` than a character.
bool needs_backslash(char before, char c, char after) {
  constexpr std::string_view always = "\\`*[|~$";
  if (always.find(c) != std::string_view::npos) return true;
  if (c == '_') return !is_word(before) || !is_word(after);
  if (c == '<') return is_letter(after) || after == '/' || after == '!' || after == '?';
  if (c == '&') return is_letter(after) || after == '#';
  if (c == '#') return before == ' ' || before == '\0';
  return false;
}

/// Bold covers the text alone, so that escape sequences never count as width.
std::string padded(const Cell& cell, std::size_t width, Align align, bool colours) {
  const std::size_t room = width - display_width(cell.text);
  const std::string text = cell.best && colours ? kBold + cell.text + kPlain : cell.text;
  const std::string blanks(room, ' ');
  return align == Align::left ? text + blanks : blanks + text;
}

std::string markdown_text(const Cell& cell) {
  const std::string text = escape_markdown(cell.text);
  return cell.best && !text.empty() ? "**" + text + "**" : text;
}

}  // namespace

std::size_t code_point_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                    ? 1
                             : lead >= 0xc2 && lead <= 0xdf ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (const char c : text.substr(1, length - 1))
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return 0;
  if (length < 3) return length;
  // What is left to exclude: overlong forms, surrogates, and numbers beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool excluded = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return excluded ? 0 : length;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty())
    if (!is_combining(take_code_point(text))) ++width;
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string beginning;
  for (std::size_t used = 0;;) {
    const auto code_point = take_code_point(text);
    if (!is_combining(code_point) && ++used == width) return beginning + "…";
    beginning += code_point;
  }
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

std::string escape_markdown(std::string_view text) {
  const std::string line = one_line(text);
  std::string escaped;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char before = i == 0 ? '\0' : line[i - 1];
    const char after = i + 1 == line.size() ? '\0' : line[i + 1];
    if (needs_backslash(before, line[i], after)) escaped += '\\';
    escaped += line[i];
  }
  return escaped;
}

std::vector<Column> columns(std::initializer_list<const char*> texts,
                            std::initializer_list<const char*> numbers) {
  std::vector<Column> all;
  for (const char* header : texts) all.push_back({header, Align::left});
  for (const char* header : numbers) all.push_back({header});
  return all;
}

void Table::set_groups(std::vector<ColumnGroup> groups) {
  std::size_t covered = 0;
  for (const ColumnGroup& group : groups) covered += group.columns;
  if (covered < columns_.size()) groups.push_back({.columns = columns_.size() - covered});
  groups_ = std::move(groups);
}

void Table::add_row(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  for (Cell& cell : cells) cell.text = one_line(cell.text);
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::to_text(bool colours) const {
  std::vector<std::size_t> width;
  for (const Column& column : columns_) width.push_back(display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], display_width(row[c].text));
  const std::size_t gaps = kGap.size() * (std::max<std::size_t>(columns_.size(), 1) - 1);
  const std::size_t total = std::accumulate(width.begin(), width.end(), gaps);

  const auto rule = [&](const char* mark) {
    std::string marks;
    for (std::size_t i = 0; i < total; ++i) marks += mark;
    return marks + '\n';
  };
  const auto line = [&](const auto& cell_of) {
    std::string cells;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) cells += kGap;
      cells += padded(cell_of(c), width[c], columns_[c].align, colours);
    }
    cells.erase(cells.find_last_not_of(' ') + 1);
    return cells + '\n';
  };

  std::string text = rule("━");
  text += line([&](std::size_t c) { return Cell(columns_[c].header); });
  text += rule("─");
  for (const auto& row : rows_)
    text += row.empty() ? rule("─") : line([&](std::size_t c) { return row[c]; });
  return text + rule("━");
}

std::string Table::to_markdown() const {
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  std::size_t first = 0;
  for (const ColumnGroup& group : groups_) {
    if (!group.header.empty())
      for (std::size_t c = first; c < first + group.columns; ++c)
        headers[c] = headers[c].empty() ? group.header : group.header + " " + headers[c];
    first += group.columns;
  }

  std::string text = "|";
  for (const std::string& header : headers) text += " " + markdown_text(header) + " |";
  text += "\n|";
  for (const Column& column : columns_) text += column.align == Align::left ? ":---|" : "---:|";
  text += '\n';
  for (const auto& row : rows_) {
    if (row.empty()) continue;
    text += '|';
    for (const Cell& cell : row) text += " " + markdown_text(cell) + " |";
    text += '\n';
  }
  return text;
}

std::string Table::html_class(std::size_t column) const {
  std::string names;
  if (column == 0) names += " key";
  if (columns_[column].align == Align::right) names += " right";
  std::size_t first = 0;
  for (const ColumnGroup& group : groups_) {
    if (first == column && first > 0) names += " start";
    first += group.columns;
  }
  return names.empty() ? "" : fmt::format(" class=\"{}\"", names.substr(1));
}

// Columns that stand alone beside groups have one header as high as both rows.
std::string Table::html_header() const {
  const auto header = [&](std::size_t c, const char* rows) {
    const std::string text = escape_xml(columns_[c].header);
    // A header without a text heads nothing.
    return text.empty() ? fmt::format("<td{}{}></td>", rows, html_class(c))
                        : fmt::format("<th scope=\"col\"{}{}>{}</th>", rows, html_class(c), text);
  };
  if (groups_.empty()) {
    std::string row;
    for (std::size_t c = 0; c < columns_.size(); ++c) row += header(c, "");
    return fmt::format("<thead>\n<tr>{}</tr>\n</thead>\n", row);
  }
  std::string spans;
  std::string upper;
  std::string lower;
  std::size_t first = 0;
  for (const ColumnGroup& group : groups_) {
    spans += fmt::format("<colgroup span=\"{}\"></colgroup>", group.columns);
    if (!group.header.empty())
      upper += fmt::format("<th scope=\"colgroup\" colspan=\"{}\"{}>{}</th>", group.columns,
                           first > 0 ? " class=\"start\"" : "", escape_xml(group.header));
    for (std::size_t c = first; c < first + group.columns; ++c)
      group.header.empty() ? upper += header(c, " rowspan=\"2\"") : lower += header(c, "");
    first += group.columns;
  }
  return fmt::format("{}\n<thead>\n<tr>{}</tr>\n<tr>{}</tr>\n</thead>\n", spans, upper, lower);
}

std::string Table::to_html() const {
  std::string html = "<table>\n" + html_header();
  bool open = false;
  for (const auto& row : rows_) {
    if (row.empty()) {
      if (open) html += "</tbody>\n";
      open = false;
      continue;
    }
    if (!open) html += "<tbody>\n";
    open = true;
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string text = escape_xml(row[c].text);
      const char* const element = c == 0 ? "th" : "td";
      html += fmt::format("<{}{}{}>{}</{}>", element, c == 0 ? " scope=\"row\"" : "", html_class(c),
                          row[c].best ? "<strong>" + text + "</strong>" : text, element);
    }
    html += "</tr>\n";
  }
  return html + (open ? "</tbody>\n" : "") + "</table>\n";
}

}  // namespace kalstream::view
