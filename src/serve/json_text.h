// Pieces of JSON, appended.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "http/message.h"

namespace kalstream::serve {

inline void append_number(std::string& to, double v) {
  if (std::isfinite(v))
    fmt::format_to(std::back_inserter(to), "{}", v);
  else
    to += "null";
}

/// ,"name":value
inline void append_field(std::string& to, std::string_view name, double v) {
  fmt::format_to(std::back_inserter(to), ",\"{}\":", name);
  append_number(to, v);
}
inline void append_field(std::string& to, std::string_view name, std::uint64_t v) {
  fmt::format_to(std::back_inserter(to), ",\"{}\":{}", name, v);
}
inline void append_field(std::string& to, std::string_view name, bool v) {
  fmt::format_to(std::back_inserter(to), ",\"{}\":{}", name, v);
}
inline void append_field(std::string& to, std::string_view name, std::string_view text) {
  fmt::format_to(std::back_inserter(to), ",\"{}\":", name);
  http::append_quoted(to, text);
}
inline void append_field(std::string& to, std::string_view name, const char* text) {
  append_field(to, name, std::string_view(text));
}

/// [one(0),one(1),…]
template <class One>
void append_list(std::string& to, std::size_t n, const One& one) {
  to += '[';
  for (std::size_t k = 0; k < n; ++k) {
    if (k > 0) to += ',';
    one(k);
  }
  to += ']';
}

/// A time as it was written: text, or a number; null if there is none.
inline void append_time(std::string& to, std::string_view time, bool is_text) {
  if (time.empty())
    to += "null";
  else if (is_text)
    http::append_quoted(to, time);
  else
    to += time;
}

}  // namespace kalstream::serve
