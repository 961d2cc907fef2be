#include "data/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "data/dataset.h"

namespace kalstream::reading {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

bool is_missing_marker(std::string_view text) {
  constexpr std::array<std::string_view, 5> markers = {"", "?", "na", "nan", "null"};
  constexpr std::size_t longest = 4;
  return text.size() <= longest && std::ranges::find(markers, lower_case(text)) != markers.end();
}

Cell finite_cell(double value) {
  if (std::isnan(value)) return {CellKind::missing, kMissing};
  if (std::isinf(value)) return {CellKind::out_of_range, kMissing};
  return {CellKind::number, value};
}

/// from_chars reports numbers too large and too small alike; only the former are errors.
Cell underflow_or_error(std::string_view text) {
  long double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc() && std::abs(value) < 1) return {CellKind::number, 0};
  return {CellKind::out_of_range, kMissing};
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string column_name(std::size_t index, char letter) {
  return letter + std::to_string(index + 1);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool Lines::next() {
  while (!rest_.empty()) {
    const std::size_t length = rest_.find('\n');
    line_ = trim(rest_.substr(0, length));
    rest_.remove_prefix(length == std::string_view::npos ? rest_.size() : length + 1);
    ++number_;
    if (!line_.empty() && line_.front() != comment_) return true;
  }
  return false;
}

Cell parse_cell(std::string_view text) {
  text = trim(text);
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);

  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ptr == end && result.ec == std::errc()) return finite_cell(value);
  if (result.ptr == end && result.ec == std::errc::result_out_of_range)
    return underflow_or_error(digits);
  return {is_missing_marker(text) ? CellKind::missing : CellKind::text, kMissing};
}

void fail(std::string_view path, std::size_t line, std::string_view message) {
  std::string what(path);
  if (line > 0) what += ':' + std::to_string(line);
  throw DataError(what.append(": ").append(message));
}

void fail_cell(std::string_view path, std::size_t line, std::string_view column,
               std::string_view text, CellKind kind, std::string_view remedy) {
  const char* const wrong = kind == CellKind::text
                                ? " is not a number; "
                                : " is infinite or beyond the range of numbers; ";
  fail(path, line, (shown(text, '\'') + " in column " + shown(column) + wrong).append(remedy));
}

std::string shown(std::string_view text, char mark) {
  constexpr std::size_t longest = 60;
  std::size_t length = std::min(text.size(), longest);
  while (length < text.size() && length > 0 && continues_utf8(text[length])) --length;
  std::string cut(text.substr(0, length));
  std::ranges::replace_if(cut, is_control, ' ');
  if (length < text.size()) cut += "…";
  return mark + cut + mark;
}

}  // namespace kalstream::reading
