// Pieces of JSON, appended. Commas are set where something stands before.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lines/json_text.h"

namespace kalstream::serve {

/// What is not finite is null.
inline void append_value(std::string& to, double v) {
  std::isfinite(v) ? append_json_number(to, v) : void(to += "null");
}
void append_value(std::string& to, std::integral auto v) {
  fmt::format_to(std::back_inserter(to), "{}", v);
}
inline void append_value(std::string& to, std::string_view text) { append_json_text(to, text); }
inline void append_value(std::string& to, const std::string& text) { append_json_text(to, text); }
inline void append_value(std::string& to, const char* text) { append_json_text(to, text); }
template <typename T>
void append_value(std::string& to, const std::optional<T>& v) {
  v ? append_value(to, *v) : void(to += "null");
}

inline void append_comma(std::string& to) {
  if (to.back() != '{' && to.back() != '[') to += ',';
}

/// [one(0),one(1),…]: each appends its value.
void append_list(std::string& to, std::size_t n, const auto& one) {
  to += '[';
  for (std::size_t k = 0; k < n; ++k) {
    append_comma(to);
    one(k);
  }
  to += ']';
}
template <typename T>
void append_value(std::string& to, const std::vector<T>& list) {
  append_list(to, list.size(), [&](std::size_t k) { append_value(to, list[k]); });
}

/// "name": and then its value.
inline void append_name(std::string& to, std::string_view name) {
  append_comma(to);
  fmt::format_to(std::back_inserter(to), "\"{}\":", name);
}
template <typename T>
void append_field(std::string& to, std::string_view name, const T& v) {
  append_name(to, name);
  append_value(to, v);
}

/// A time as it was written: text, or a number; null if there is none.
inline void append_time(std::string& to, std::string_view time, bool is_text) {
  if (time.empty())
    to += "null";
  else if (is_text)
    append_json_text(to, time);
  else
    to += time;
}

}  // namespace kalstream::serve
