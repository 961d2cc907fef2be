// Texts and numbers as JSON has them.
#pragma once

#include <string>
#include <string_view>

namespace kalstream {

/// Appends a text in quotes. Bytes that are no UTF-8 are replaced by U+FFFD.
void append_json_text(std::string& to, std::string_view text);

/// Appends a finite number with as many digits as it takes to read the same one back: with an
/// exponent below 1e-4 and from 1e16 on.
void append_json_number(std::string& to, double v);

}  // namespace kalstream
