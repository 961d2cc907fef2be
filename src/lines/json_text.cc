#include "lines/json_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kalstream {
namespace {

void append_escaped(std::string& to, char c) {
  constexpr std::string_view names = "btnvfr";  // from 8 on; there is no \v in JSON
  constexpr std::string_view digits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  to += '\\';
  if (c == '"' || c == '\\')
    to += c;
  else if (c >= '\b' && c <= '\r' && c != '\v')
    to += names[code - 8U];
  else
    (((to += "u00") += digits[code >> 4]) += digits[code & 15]);
}

}  // namespace

// As Unicode has it (table 3-7 of the standard): no encoding longer than it has to be, no
// surrogates, nothing beyond U+10FFFF.
Utf8Character utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0) return {};
  std::uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  std::uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t k = 1; k < length; ++k) {
    if (k == text.size() || byte(k) < low || byte(k) > high) return {k, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

void append_json_text(std::string& to, std::string_view text) {
  to += '"';
  std::size_t plain = 0;  // so many bytes go out as they are
  while (plain < text.size()) {
    const char c = text[plain];
    if (static_cast<unsigned char>(c) >= 0x80) {
      const Utf8Character character = utf8_character(text.substr(plain));
      if (character.whole) {
        plain += character.bytes;
        continue;
      }
      to.append(text, 0, plain) += "\xef\xbf\xbd";
      text.remove_prefix(plain + character.bytes);
      plain = 0;
    } else if (c == '"' || c == '\\' || c < 0x20) {
      to.append(text, 0, plain);
      append_escaped(to, c);
      text.remove_prefix(plain + 1);
      plain = 0;
    } else {
      ++plain;
    }
  }
  to.append(text) += '"';
}

void append_json_number(std::string& to, double v) {
  std::array<char, 32> buffer;  // -2.2250738585072014e-308 needs 24 characters
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::scientific)
          .ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  if (exponent < -4 || exponent >= 16) {
    to += text;
    return;
  }
  if (text.front() == '-') {
    to += '-';
    text.remove_prefix(1);
  }
  const bool has_point = text[1] == '.';
  const std::string_view rest = has_point ? text.substr(2, text.find('e') - 2) : std::string_view();
  if (exponent < 0) {
    to.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0');
    (to += text.front()) += rest;
    return;
  }
  const auto whole = std::min(static_cast<std::size_t>(exponent), rest.size());
  (to += text.front()) += rest.substr(0, whole);
  to.append(static_cast<std::size_t>(exponent) - whole, '0');
  if (whole < rest.size()) (to += '.') += rest.substr(whole);
}

std::string json_of(double v) {
  std::string text;
  if (!std::isfinite(v)) return "null";
  append_json_number(text, v);
  return text;
}

std::string json_of(std::uint64_t v) { return std::to_string(v); }

std::string json_of(bool v) { return v ? "true" : "false"; }

std::string json_of(std::string_view text) {
  std::string json;
  append_json_text(json, text);
  return json;
}

std::string json_of(std::span<const std::string> texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) values.push_back(json_of(text));
  return json_list(values);
}

std::string json_list(std::span<const std::string> values) {
  std::string json = "[";
  for (const std::string& value : values) (json += json.size() > 1 ? "," : "") += value;
  return json += ']';
}

std::string json_object(const std::vector<JsonField>& fields) {
  std::string json = "{";
  for (const auto& [name, value] : fields) {
    if (json.size() > 1) json += ',';
    append_json_text(json, name);
    (json += ':') += value;
  }
  return json += '}';
}

}  // namespace kalstream
