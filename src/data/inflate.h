// What zlib or gzip compressed. Internal to src/data; the program does it by zlib, the Python
// package by Python's, so that it needs no library of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kalstream {

enum class Wrapping : std::uint8_t { zlib, gzip };

struct Inflated {
  enum class End : std::uint8_t { complete, cut_short, damaged };

  std::string text;
  std::size_t used = 0;  ///< bytes of what was compressed; what follows them is something else
  End end = End::damaged;
};

/// At most `most` bytes of one compressed text; what there is before the damage if it is damaged.
/// It expands at most 1032 times, and so does the memory that it can ask for.
Inflated inflate(std::string_view bytes, Wrapping wrapping, std::size_t most = SIZE_MAX);

}  // namespace kalstream
