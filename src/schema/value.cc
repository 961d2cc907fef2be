#include "schema/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace kalstream {
namespace {

using Kind = Value::Kind;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool says(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, lower);
}

bool is_missing_marker(std::string_view text) {
  constexpr std::array<std::string_view, 8> markers = {"",    "?",    "na",   "n/a",
                                                       "nan", "null", "none", "nil"};
  constexpr std::size_t longest = 4;
  return text == "-" || (text.size() <= longest && std::ranges::any_of(markers, [&](auto marker) {
                           return says(text, marker);
                         }));
}

// from_chars reports numbers too large and too small alike; only the former are a problem. Which
// one it is, the power of ten of the first digit that is not 0 tells.
bool is_tiny(std::string_view digits) {
  const auto e = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, e);
  std::string_view power = digits.substr(std::min(e + 1, digits.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  long long exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec ==
      std::errc::result_out_of_range)
    return power.starts_with('-');
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  const auto first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const auto place = static_cast<long long>(point) - static_cast<long long>(first);
  return exponent < (first < point ? 1 - place : -place);
}

// Reads a decimal of at most 15 digits without exponent, such as -12.5. Its digits and the power of
// ten are both exact as doubles, so that one division rounds correctly (Clinger 1990, "How to read
// floating point numbers accurately"). False if the text is anything else.
bool take_short_decimal(std::string_view text, double& number) {
  constexpr std::array<double, 16> power = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() >= power.size()) return false;
  std::uint64_t digits = 0;
  std::size_t point = text.size();
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto digit = static_cast<unsigned char>(text[k] - '0');
    if (digit <= 9)
      digits = 10 * digits + digit;
    else if (text[k] == '.' && point == text.size() && k > 0 && k + 1 < text.size())
      point = k;
    else
      return false;
  }
  const std::size_t places = point == text.size() ? 0 : text.size() - point - 1;
  number = static_cast<double>(digits) / power[places];
  if (negative) number = -number;
  return true;
}

// Whether the text is a number, in the way of programs; if so, what `value` is.
bool take_number(std::string_view digits, Value& value) {
  if (take_short_decimal(digits, value.number)) {
    value.kind = Kind::number;
    return true;
  }
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  const char* const end = digits.data() + digits.size();
  double number = 0;
  const auto result = std::from_chars(digits.data(), end, number);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return false;
  value.kind = Kind::number;
  value.number = number;
  if (result.ec == std::errc::result_out_of_range) {
    value.number = 0;
    if (!is_tiny(digits)) value.kind = Kind::too_large;
  } else if (std::isnan(number)) {
    value.kind = Kind::missing;
  } else if (std::isinf(number)) {
    value.kind = Kind::too_large;
  }
  return true;
}

// The same for 1,5. A comma needs a digit behind it: "1," is what a list leaves.
bool take_number_with_comma(std::string_view text, Value& value) {
  constexpr std::size_t longest = 800;  // more digits than any number needs
  std::array<char, longest> digits;
  if (text.size() > longest || text.find('.') != text.npos || text.ends_with(',')) return false;
  std::ranges::replace_copy(text, digits.begin(), ',', '.');
  return take_number({digits.data(), text.size()}, value);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

void interpret(std::string_view text, char decimal, Value& value) {
  text = trim(text);
  value.number = 0;
  if (decimal == ',' ? take_number_with_comma(text, value) : take_number(text, value)) return;
  const bool yes = says(text, "true");
  if (yes || says(text, "false")) {
    value.kind = Kind::number;
    value.number = yes ? 1 : 0;
  } else {
    value.kind = is_missing_marker(text) ? Kind::missing : Kind::text;
  }
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

}  // namespace kalstream
