#include "core/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace kalstream {
namespace {

/// How a text goes on: so many bytes belong together, and are a character or not.
struct Piece {
  std::size_t length = 1;
  bool is_character = true;
};

// Table 3-7 of the Unicode standard: what may follow the first byte of a character.
Piece next_piece(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {};
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0) return {1, false};
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t k = 1; k < length; ++k) {
    if (k >= text.size()) return {k, false};
    if (byte(k) < (k == 1 ? low : 0x80) || byte(k) > (k == 1 ? high : 0xbf)) return {k, false};
  }
  return {length, true};
}

void append_escaped(std::string& to, char c) {
  constexpr std::string_view escaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  to += '\\';
  if (const auto at = escaped.find(c); at != escaped.npos) {
    to += letters[at];
    return;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  to += "u00";
  to += digits[static_cast<std::size_t>(c) / 16];
  to += digits[static_cast<std::size_t>(c) % 16];
}

}  // namespace

void append_number(std::string& to, double v) {
  std::array<char, 40> text{};  // 1e16 has 17 digits, 1e-4 has 21
  const double size = std::abs(v);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v, form);
  to.append(text.data(), end.ptr);
}

void append_json_text(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const char c = text.front();
    const Piece piece = next_piece(text);
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
      append_escaped(to, c);
    else if (piece.is_character)
      to.append(text.substr(0, piece.length));
    else
      to += "\xef\xbf\xbd";
    text.remove_prefix(piece.length);
  }
  to += '"';
}

}  // namespace kalstream
