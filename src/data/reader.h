// Streams from files: CSV, TSV, whitespace-separated text, JSON lines, ARFF and MAT version 5.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace kalstream {

/// Which columns play which part: names or 1-based numbers, a name first.
struct ColumnChoice {
  std::vector<std::string> targets;  ///< empty: the last column, or a MAT file's `target_set`
  std::vector<std::string> inputs;   ///< empty: all others; {"none"}: none
};

struct ReadOptions {
  ColumnChoice columns;
  std::size_t max_rows = 0;  ///< 0: all; what follows them is not even checked
};

/// Reads a file whose extension tells its format, or "-", delimited text from standard input.
/// Missing values become NaN; inputs that are 1 in every row read are dropped, and there may be no
/// others: a time series. Throws DataError with "FILE:LINE: what is wrong; what to do".
Dataset read_dataset(const std::filesystem::path& file, const ReadOptions& options);

}  // namespace kalstream
