#include "view/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "view/chart.h"

namespace kalstream::view {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kGap = "  ";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

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

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
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
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                   is_continuation))
    return 0;
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

void Table::set_groups(std::vector<ColumnGroup> groups) {
  std::size_t covered = 0;
  for (ColumnGroup& group : groups) {
    if (group.columns == 0 || group.columns > columns_.size() - covered)
      throw std::invalid_argument(fmt::format(
          "the column groups of a table of {} columns need at least one column each and no more "
          "than there are: see \"{}\"",
          columns_.size(), group.header));
    covered += group.columns;
    group.header = one_line(group.header);
  }
  if (!groups.empty() && covered < columns_.size())
    groups.push_back({.header = "", .columns = columns_.size() - covered});
  groups_ = std::move(groups);
}

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() > columns_.size())
    throw std::invalid_argument(fmt::format("a table of {} columns cannot take a row of {} cells",
                                            columns_.size(), cells.size()));
  cells.resize(columns_.size(), Cell(""));
  for (Cell& cell : cells) cell.text = one_line(cell.text);
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

namespace {

/// Of neighbouring columns and the gaps between them.
std::size_t span_width(const std::vector<std::size_t>& widths, std::size_t first,
                       std::size_t columns) {
  std::size_t total = columns == 0 ? 0 : kGap.size() * (columns - 1);
  for (std::size_t c = first; c < first + columns; ++c) total += widths[c];
  return total;
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c].text));
  std::size_t first = 0;
  for (const ColumnGroup& group : groups_) {
    const std::size_t last = first + group.columns - 1;
    const std::size_t span = span_width(widths, first, group.columns);
    // A header longer than its columns makes the last of them wider.
    widths[last] += std::max(display_width(group.header), span) - span;
    first += group.columns;
  }
  return widths;
}

namespace {

/// Bold covers the text alone, so that escape sequences never count as width.
std::string padded(const Cell& cell, std::size_t width, Align align, bool colours) {
  const std::size_t room = width - display_width(cell.text);
  const std::size_t before = align == Align::left ? 0 : align == Align::right ? room : room / 2;
  std::string text(before, ' ');
  if (cell.best && colours)
    text.append(kBold).append(cell.text).append(kPlain);
  else
    text += cell.text;
  return text.append(room - before, ' ');
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// A group's header in the middle of a line that shows which columns it spans.
std::string spanning(const std::string& header, std::size_t width) {
  if (header.empty()) return std::string(width, ' ');
  const std::size_t room = width - display_width(header);
  if (room < 4) return padded(header, width, Align::centre, false);
  const std::size_t before = (room - 2) / 2;
  return repeat("─", before) + ' ' + header + ' ' + repeat("─", room - 2 - before);
}

std::string markdown_text(const Cell& cell) {
  const std::string text = escape_markdown(cell.text);
  return cell.best && !text.empty() ? "**" + text + "**" : text;
}

const char* markdown_rule(Align align) {
  switch (align) {
    case Align::left:
      return ":---";
    case Align::right:
      return "---:";
    case Align::centre:
      return ":---:";
  }
  return "---";
}

}  // namespace

std::string Table::to_text(bool colours) const {
  const auto width = widths();
  const std::size_t total = span_width(width, 0, columns_.size());
  const auto rule = [&](std::string_view mark) { return repeat(mark, total) + '\n'; };

  const auto line = [&](const auto& cell_of) {
    std::string cells;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) cells += kGap;
      cells += padded(cell_of(c), width[c], columns_[c].align, colours);
    }
    return without_trailing_blanks(std::move(cells)) + '\n';
  };

  std::string text = rule("━");
  if (!groups_.empty()) {
    std::string headers;
    std::size_t first = 0;
    for (const ColumnGroup& group : groups_) {
      if (first > 0) headers += kGap;
      headers += spanning(group.header, span_width(width, first, group.columns));
      first += group.columns;
    }
    text += without_trailing_blanks(std::move(headers)) + '\n';
  }
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
  for (const Column& column : columns_) text += std::string(markdown_rule(column.align)) + "|";
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
  if (columns_[column].align == Align::centre) names += " centre";
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
