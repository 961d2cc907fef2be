// What one field of a line says, and data that cannot be used.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace kalstream {

/// A value as it was written, and the number it is, if it is one.
struct Value {
  enum class Kind : unsigned char {
    missing,    ///< nothing, NA, NaN, null, ?
    number,     ///< finite; true and false are 1 and 0
    too_large,  ///< infinite, or beyond the range of numbers
    text,       ///< all else, time stamps included: the schema knows which fields hold them
  };

  Kind kind = Kind::missing;
  bool quoted = false;        ///< a string of JSON, to be written as one again
  bool only_of_list = false;  ///< of JSON: the only value of a list
  double number = 0;          ///< if it is one
  std::string text;           ///< as written, without quotes
};

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The text without the blanks, tabs and carriage returns at its ends.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
std::string lower_case(std::string_view text);

/// What `text` is, whatever the locale: kind and number of `value`; its text is left alone. Blanks
/// around it and a '+' are allowed. `decimal` is '.' or ','.
void interpret(std::string_view text, char decimal, Value& value);

/// Text from a file, cut short and freed of control characters, between a pair of marks.
std::string shown(std::string_view text, char mark = '"');

/// Bad data, with a message that names the file, the line and what to do.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace kalstream
