// Streams by name: files of delimited text, JSON lines, ARFF or MAT version 5, any of them with
// .gz, and generators.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kalstream/schema.h"
#include "schema/dataset.h"

namespace kalstream {

struct ReadOptions {
  FieldChoice fields;
  std::vector<std::string> columns;  ///< names of delimited text whose header is not there
  std::size_t max_rows = 0;          ///< 0: all; what follows them is not even checked
  Schema like;                       ///< what was learnt from before: the same fields, by name
};

class RecordFile;
/// The records of a file (data/record_file.h). Throws DataError.
std::unique_ptr<RecordFile> open_records(const std::string& path, const ReadOptions& options);

/// Reads a file, or standard input ("-"), by the rules of docs/data.md, the same that a live stream
/// is read by: its extension tells the format, or else what is in it. Missing values become NaN.
/// Throws DataError with "FILE:LINE: what is wrong; what to do".
Dataset read_dataset(const std::filesystem::path& file, const ReadOptions& options);

/// True for gen:NAME[?key=value&…].
bool is_generated(const std::string& source);

/// Reads a file, or generates a stream named gen:NAME[?key=value&…]; at most `rows` rows (0: all of
/// a file; a generator has no end and needs a number). Throws DataError or std::invalid_argument.
Dataset load(const std::string& source, std::size_t rows, const ReadOptions& options = {});

}  // namespace kalstream
