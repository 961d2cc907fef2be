// How the lines of a stream are written: JSON or delimited text, and how that delimits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream {

class Archive;

enum class Format : std::uint8_t { unknown, json, delimited };

/// "json", "delimited", or "table" for what has no lines of text: ARFF, MAT and tables in memory.
const char* to_string(Format format);

/// What may stand between two fields, the rarest in names and numbers first; blanks only where
/// there is none of the others.
inline constexpr std::string_view delimiters = "\t;|, ";

/// Settled by the first lines; a line that contradicts it is refused, never guessed at.
struct Dialect {
  Format format = Format::unknown;
  char delimiter = 0;                ///< ' ': any run of blanks; 0: not yet known
  char decimal = 0;                  ///< '.' or ','; 0: no number has shown it yet
  bool header = false;               ///< the names below stood in the text
  std::vector<std::string> columns;  ///< of delimited text and of arrays; empty: not yet known

  void exchange(Archive& archive);
  bool operator==(const Dialect&) const = default;
};

}  // namespace kalstream
