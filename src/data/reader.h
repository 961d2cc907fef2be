// Streams from files: CSV, TSV, whitespace-separated text, JSON lines, ARFF and MAT version 5.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace kalstream {

struct ReadOptions {
  /// Column names or 1-based numbers, a name first; empty: the last column, or a MAT file's
  /// `target_set`.
  std::vector<std::string> targets;
  std::size_t max_rows = 0;  ///< 0: all; what follows them is not even checked
};

/// Reads a file whose extension tells its format, or "-", delimited text from standard input.
/// Missing values become NaN; inputs that are 1 in every row read are dropped. Throws DataError
/// with "FILE:LINE: what is wrong; what to do".
Dataset read_dataset(const std::filesystem::path& file, const ReadOptions& options);

}  // namespace kalstream
