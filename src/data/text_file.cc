// Lines of a whole text.
#include <algorithm>

#include "data/record_file.h"
#include "lines/delimited.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"

namespace kalstream {
namespace {

class TextRecords final : public RecordFile {
 public:
  TextRecords(std::string path, std::string text, Dialect dialect, std::vector<std::string> columns)
      : path_(std::move(path)),
        text_(std::move(text)),
        rest_(text_),
        reader_(std::move(dialect), std::move(columns)) {}

  bool next(Record& record) override {
    while (!rest_.empty()) {
      const std::string_view line = next_line();
      try {
        if (reader_.read(line, record)) return true;
      } catch (const DataError& error) {
        fail_at(path_, line_, error.what());
      }
    }
    return false;
  }

  std::size_t line() const override { return line_; }
  Dialect dialect() const override { return reader_.dialect(); }
  bool has_columns() const override { return !reader_.dialect().columns.empty(); }

 private:
  std::string_view next_line() {
    const std::size_t length = may_span_lines()
                                   ? delimited::line_length(rest_, reader_.dialect().delimiter)
                                   : std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    line_ = next_;
    ++next_;
    for (auto at = line.find('\n'); at != line.npos; at = line.find('\n', at + 1)) ++next_;
    return line;
  }

  /// JSON and comments end with their line.
  bool may_span_lines() const {
    const std::size_t first = rest_.find_first_not_of(" \t\r");
    const char c = first == rest_.npos ? '\n' : rest_[first];
    const Format format = reader_.dialect().format;
    return c != '#' &&
           (format == Format::delimited || (format == Format::unknown && c != '{' && c != '['));
  }

  const std::string path_;
  const std::string text_;
  std::string_view rest_;
  RecordReader reader_;
  std::size_t line_ = 0;
  std::size_t next_ = 1;
};

}  // namespace

std::unique_ptr<RecordFile> open_text(std::string path, std::string text, Dialect dialect,
                                      std::vector<std::string> columns) {
  return std::make_unique<TextRecords>(std::move(path), std::move(text), std::move(dialect),
                                       std::move(columns));
}

}  // namespace kalstream
