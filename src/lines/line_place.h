// Where a stream of lines stands.
#pragma once

#include <cstdint>

#include "schema/dialect.h"

namespace kalstream {

class Archive;

/// Place in a file, with what tells that file from others. Of a pipe the offset alone.
struct FilePlace {
  /// A checksum of a stretch of the file.
  struct Stretch {
    static constexpr std::uint64_t longest = 1024;
    std::uint64_t length = 0;
    std::uint64_t sum = 0;
  };

  std::uint64_t offset = 0;  ///< of the next line
  Stretch head;              ///< the file's first bytes
  Stretch tail;              ///< those before the offset: files of one kind begin alike

  void exchange(Archive& archive);
};

/// What a checkpoint keeps of the source of a stream of lines.
struct LinePlace {
  std::uint64_t line = 0;  ///< of the last line that was read
  /// Length of that line, if a pipe ended within it; else 0.
  std::uint64_t cut = 0;
  FilePlace file;
  Dialect dialect;  ///< in which lines are written

  void exchange(Archive& archive);
};

}  // namespace kalstream
