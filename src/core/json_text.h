// Texts and numbers as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace kalstream {

/// Appends a finite number with as many digits as it takes to read the same one back: 1e-05 and
/// smaller, and 1e+16 and larger, with an exponent.
void append_number(std::string& to, double v);

/// Appends a text with quotes around it. Bytes that are not UTF-8 are replaced by U+FFFD.
void append_json_text(std::string& to, std::string_view text);

inline std::string json_text(std::string_view text) {
  std::string quoted;
  append_json_text(quoted, text);
  return quoted;
}

}  // namespace kalstream
