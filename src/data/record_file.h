// Files as records, one implementation per format. Internal to src/data.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"
#include "schema/dialect.h"
#include "schema/record.h"

namespace kalstream {

/// "PATH:LINE: message", or "PATH: message" when line is 0, thrown as DataError.
[[noreturn]] void fail_at(std::string_view path, std::size_t line, std::string_view message);

/// A missing value becomes this number, and its shortest text; with NaN it stays missing.
void set_number(double number, Value& value);

class RecordFile {
 public:
  virtual ~RecordFile() = default;

  /// False at the end. Throws DataError, with the place.
  virtual bool next(Record& record) = 0;
  virtual std::size_t line() const = 0;  ///< of the last record, counted from 1
  virtual Dialect dialect() const { return {}; }
  /// Whether there were names of columns, perhaps without a row under them.
  virtual bool has_columns() const = 0;
  /// Targets, unless the user chooses; empty: the rules do.
  virtual std::vector<std::string> targets() const { return {}; }
  /// Columns that hold text, even where it is missing.
  virtual std::vector<std::string> texts() const { return {}; }
  /// Columns that are 1 in every row, and so no inputs.
  virtual std::vector<std::string> constants() const { return {}; }
};

/// All records of a file as a dataset, which has no name yet; `path` is for messages.
Dataset collect(const std::string& path, RecordFile& file, const ReadOptions& options);

/// Lines of delimited text or JSON; `path` is for messages. Quotes may span lines.
std::unique_ptr<RecordFile> open_text(std::string path, std::string text, Dialect dialect,
                                      std::vector<std::string> columns);
std::unique_ptr<RecordFile> open_arff(std::string path, std::string text);
/// `bytes` as they are in the file.
std::unique_ptr<RecordFile> open_mat(const std::string& path, std::string_view bytes);

}  // namespace kalstream
