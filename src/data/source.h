// A stream by name: a file or a generator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/reader.h"
#include "schema/dataset.h"

namespace kalstream {

/// True for gen:NAME[?key=value&…].
bool is_generated(const std::string& source);

/// Reads a file, or generates a stream named gen:NAME[?key=value&…]; at most `rows` rows (0: all of
/// a file; a generator has no end and needs a number). Throws DataError or std::invalid_argument.
Dataset load(const std::string& source, std::size_t rows, const ReadOptions& options = {});

}  // namespace kalstream
