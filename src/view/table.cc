#include "view/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

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

/// A cell is one line, whatever it was made from.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

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
  // Below a million whole digits are all written: "1300" and not "1.30e3".
  if (std::abs(value) >= std::pow(10.0, digits) - 0.5 && std::abs(value) < 999999.5)
    return fmt::format("{:.0f}", value);
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

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() > columns_.size())
    throw std::invalid_argument(fmt::format("a table of {} columns cannot take a row of {} cells",
                                            columns_.size(), cells.size()));
  cells.resize(columns_.size(), Cell(""));
  for (Cell& cell : cells) cell.text = one_line(cell.text);
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c].text));
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

std::string markdown_text(const Cell& cell) {
  std::string text;
  for (const char c : cell.text) {
    if (c == '|') text += '\\';
    text += c;
  }
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
  std::size_t total = columns_.empty() ? 0 : kGap.size() * (columns_.size() - 1);
  for (const std::size_t w : width) total += w;
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
  text += line([&](std::size_t c) { return Cell(columns_[c].header); });
  text += rule("─");
  for (const auto& row : rows_)
    text += row.empty() ? rule("─") : line([&](std::size_t c) { return row[c]; });
  return text + rule("━");
}

std::string Table::to_markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) text += " " + markdown_text(column.header) + " |";
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

}  // namespace kalstream::view
