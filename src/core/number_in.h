// Numbers in texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace kalstream {

/// The number that the whole text is, as programs write it; nothing if it is none.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number v{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, v);
  return error == std::errc() && rest == end ? std::optional(v) : std::nullopt;
}

}  // namespace kalstream
