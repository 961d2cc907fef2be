// Texts and numbers as JSON has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kalstream {

/// How many bytes of a text are its first character in UTF-8; `whole` is false if they are none,
/// or only the beginning of one.
struct Utf8Character {
  std::size_t bytes = 1;
  bool whole = false;
};
Utf8Character utf8_character(std::string_view text);

/// Appends a text in quotes. Bytes that are no UTF-8 are replaced by U+FFFD.
void append_json_text(std::string& to, std::string_view text);

/// Appends a finite number with as many digits as it takes to read the same one back: with an
/// exponent below 1e-4 and from 1e16 on.
void append_json_number(std::string& to, double v);

/// A value as JSON; a number that is not finite is null.
std::string json_of(double v);
std::string json_of(std::uint64_t v);
std::string json_of(bool v);
std::string json_of(std::string_view text);
inline std::string json_of(const std::string& text) { return json_of(std::string_view(text)); }
inline std::string json_of(const char* text) { return json_of(std::string_view(text)); }
std::string json_of(std::span<const std::string> texts);
inline std::string json_of(const std::vector<std::string>& texts) {
  return json_of(std::span(texts));
}

/// Lists and objects of values that are JSON already.
using JsonField = std::pair<std::string_view, std::string>;
std::string json_list(std::span<const std::string> values);
std::string json_object(const std::vector<JsonField>& fields);

}  // namespace kalstream
