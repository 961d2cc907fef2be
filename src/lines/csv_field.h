// Fields of CSV.
#pragma once

#include <string>
#include <string_view>

namespace kalstream {

/// A text as a field of CSV, quoted where it must be.
inline std::string csv_field(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_of("\",;|#\t\r\n ") == std::string_view::npos;
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace kalstream
