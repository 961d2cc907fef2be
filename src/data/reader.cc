// Datasets from files and generators.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>

#include "data/generators.h"
#include "data/inflate.h"
#include "data/record_file.h"
#include "data/source.h"
#include "schema/future.h"
#include "schema/rules.h"
#include "schema/sample.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// ---- Bytes.

void require_file(const std::string& path) {
  std::error_code ignored;  // A file of unknown status fails when it is opened.
  const fs::file_status status = fs::status(path, ignored);
  if (status.type() == fs::file_type::not_found) fail_at(path, 0, "does not exist; check the path");
  if (fs::is_directory(status)) fail_at(path, 0, "is a directory; name a file in it");
}

/// Chunk by chunk, since a pipe has no size.
std::string read_all(const std::string& path) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_at(path, 0, "cannot be opened; check its permissions");
  std::string bytes;
  std::error_code ignored;
  if (const auto size = fs::file_size(path, ignored); !ignored) bytes.reserve(size + chunk);
  while (in) {
    const std::size_t size = bytes.size();
    bytes.resize(size + chunk);
    in.read(bytes.data() + size, chunk);
    bytes.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) fail_at(path, 0, "cannot be read to its end; check the disk and try again");
  return bytes;
}

/// A file may consist of several compressed parts, one after the other.
std::string expanded(const std::string& path, std::string_view bytes) {
  std::string text;
  do {
    const Inflated part = inflate(bytes, Wrapping::gzip);
    if (part.end == Inflated::End::damaged)
      fail_at(path, 0, "is compressed and damaged; copy it again");
    if (part.end == Inflated::End::cut_short)
      fail_at(path, 0, "is compressed and not complete; copy it again");
    text += part.text;
    bytes.remove_prefix(part.used);
  } while (!bytes.empty());
  return text;
}

// ---- Formats.

bool is_mat(std::string_view bytes) {
  const auto mark = bytes.substr(std::min<std::size_t>(bytes.size(), 124), 4);
  return mark == std::string_view("\0\1IM", 4) || mark == std::string_view("\1\0MI", 4);
}

bool is_arff(std::string_view text) {
  constexpr std::size_t enough = 1000;
  const std::string begin = lower_case(text.substr(0, enough));
  return begin.find("@relation") != begin.npos && begin.find("@attribute") != begin.npos;
}

bool is_utf16(std::string_view bytes) {
  return bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
}

bool is_text(std::string_view bytes) {
  constexpr std::size_t enough = 1000;
  const std::string_view begin = bytes.substr(0, enough);
  return begin.find('\0') == begin.npos || is_utf16(bytes);
}

fs::path without_gz(const fs::path& path) {
  return lower_case(path.extension().string()) == ".gz" ? path.parent_path() / path.stem() : path;
}

}  // namespace

std::unique_ptr<RecordFile> open_records(const std::string& path, const ReadOptions& options) {
  require_file(path);
  std::string bytes = read_all(path);
  if (bytes.starts_with("\x1f\x8b")) bytes = expanded(path, bytes);
  const std::string extension = lower_case(without_gz(path).extension().string());
  if (extension == ".mat" || is_mat(bytes)) return open_mat(path, bytes);
  if (!is_text(bytes))
    fail_at(path, 0,
            "is no text, nor anything else that can be read; use .csv, .tsv, .txt, .dat, .jsonl, "
            ".ndjson, .json, .arff or .mat, any of them perhaps with .gz");
  if (is_utf16(bytes)) fail_at(path, 1, "the text is encoded as UTF-16; save it as UTF-8");
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
  if (extension == ".arff" || is_arff(bytes)) return open_arff(path, std::move(bytes));
  constexpr std::array<std::string_view, 3> json{".jsonl", ".ndjson", ".json"};
  const bool is_json = std::ranges::find(json, extension) != json.end();
  return open_text(path, std::move(bytes), {.format = is_json ? Format::json : Format::unknown},
                   options.columns);
}

namespace {

// ---- Rows.

bool has_number(const Record& record) {
  return std::ranges::any_of(record.fields(), [](const Record::Field& f) {
    return f.value.kind == Value::Kind::number || f.value.kind == Value::Kind::too_large;
  });
}

/// Makes a dataset of records: the first that can settles the schema; those before it wait.
class Building {
 public:
  Building(std::string path, RecordFile& file, const ReadOptions& options)
      : path_(std::move(path)), file_(file), choice_(options.fields), like_(options.like) {
    if (choice_.targets.empty() && like_.empty()) choice_.targets = file.targets();
    most_ = options.max_rows == 0 ? std::numeric_limits<std::size_t>::max() : options.max_rows;
  }

  Dataset run() {
    Record record;
    while (rows_ < most_ && file_.next(record)) {
      if (!samples_ && !settle_by(record)) continue;
      take(record, file_.line());
    }
    require_rows();
    finish();
    return std::move(data_);
  }

 private:
  struct Waiting {
    Record record;
    std::size_t line = 0;
  };

  // False if the record has to wait for one that says more.
  bool settle_by(const Record& record) {
    constexpr std::size_t most_waiting = 10'000;
    try {
      if (can_settle(record, choice_)) {
        Schema schema = like_.empty() ? settle(with_texts(record), choice_)
                                      : settle_as(like_, with_texts(record), choice_);
        leave_out_constants(schema);
        elapsed_ = has_elapsed(schema);
        has_keys_ = schema.find(Role::key) != nullptr;
        has_ids_ = schema.find(Role::id) != nullptr;
        data_.input_names = schema.input_names();
        data_.target_names = schema.target_names();
        samples_.emplace(std::move(schema));
      }
    } catch (const SchemaError& error) {
      // A second line of names, or units, says nothing; but what has numbers should do.
      if (problem_.empty()) problem_ = error.what();
      if (problem_line_ == 0) problem_line_ = file_.line();
      if (has_number(record)) fail_at(path_, file_.line(), error.what());
    }
    if (!samples_) {
      if (waiting_.size() == most_waiting) fail_unsettled();
      waiting_.push_back({record, file_.line()});
      return false;
    }
    for (const Waiting& before : waiting_)
      if (rows_ < most_) take(before.record, before.line);
    waiting_.clear();
    return rows_ < most_;
  }

  [[noreturn]] void fail_unsettled() const {
    fail_at(path_, problem_line_,
            problem_.empty() ? "no row has numbers to learn from; name the target with --target"
                             : problem_);
  }

  /// What is missing here may be a number, unless the file says otherwise.
  Record with_texts(Record record) const {
    for (const std::string& name : file_.texts())
      for (Record::Field& f : record.fields())
        if (f.name == name && f.value.kind == Value::Kind::missing)
          f.value.kind = Value::Kind::text;
    return record;
  }

  void leave_out_constants(Schema& schema) const {
    const std::vector<std::string> constants = file_.constants();
    for (Schema::Field& f : schema.fields)
      if (f.role == Role::input && std::ranges::find(constants, f.name) != constants.end()) {
        f.role = Role::left_out;
        f.reason = "1 in every row";
      }
  }

  void take(const Record& record, std::size_t line) {
    SampleReader& reader = *samples_;
    if (!reader.read(record, sample_)) {
      if (!waiting_.empty() && !has_number(record)) return;  // units, and the like
      fail_at(path_, line, reader.problem());
    }
    if (sample_.kind == Sample::Kind::label) {
      data_.labels.push_back({rows_, sample_.key, sample_.id, sample_.d, sample_.label});
      return;
    }
    if (elapsed_) sample_.x.back() = 0;  // who takes the row fills it in
    data_.inputs.insert(data_.inputs.end(), sample_.x.begin(), sample_.x.end());
    sample_.d.resize(data_.target_names.size(), missing);
    data_.targets.insert(data_.targets.end(), sample_.d.begin(), sample_.d.end());
    data_.lines.push_back(line);
    if (has_keys_) data_.keys.push_back(sample_.key);
    if (has_ids_) data_.ids.push_back(sample_.id);
    if (reader.has_classes()) data_.classes.push_back(sample_.label);
    if (reader.has_time()) {
      data_.times.push_back(sample_.time);
      data_.moments.push_back(sample_.has_moment ? sample_.moment : Dataset::no_moment);
      data_.ticks.push_back(sample_.tick.value_or(Dataset::no_moment));
    }
    ++rows_;
  }

  void require_rows() const {
    if (rows_ > 0) return;
    if (!waiting_.empty()) fail_unsettled();
    if (samples_)
      fail_at(path_, 0, "holds targets of other rows, but no inputs; write one row per sample");
    fail_at(path_, 0,
            file_.has_columns() ? "holds column names but no rows; write one row per sample"
                                : "holds no data; write one row per sample");
  }

  void finish() {
    const Schema& schema = samples_->schema();
    data_.input_names = schema.input_names();  // categories have found their values
    for (const std::string& name : schema.names(Role::time))
      data_.time_name += (data_.time_name.empty() ? "" : " ") + name;
    data_.schema = schema;
    data_.dialect = file_.dialect();
  }

  const std::string path_;
  RecordFile& file_;
  FieldChoice choice_;
  Schema like_;
  std::size_t most_ = 0;
  std::size_t rows_ = 0;
  std::vector<Waiting> waiting_;  // until the schema is settled
  std::string problem_;           // why it is not
  std::size_t problem_line_ = 0;
  std::optional<SampleReader> samples_;  // once it is
  bool elapsed_ = false;                 // the last input is the time since the row before
  bool has_keys_ = false;
  bool has_ids_ = false;
  Sample sample_;
  Dataset data_;
};

}  // namespace

void fail_at(std::string_view path, std::size_t line, std::string_view message) {
  std::string what(path);
  if (line > 0) what += ':' + std::to_string(line);
  throw DataError(what.append(": ").append(message));
}

Dataset collect(const std::string& path, RecordFile& file, const ReadOptions& options) {
  return Building(path, file, options).run();
}

Dataset read_dataset(const fs::path& file, const ReadOptions& options) {
  const std::string path = file == "-" ? "/dev/stdin" : file.string();
  const std::unique_ptr<RecordFile> records = open_records(path, options);
  Dataset data = collect(path, *records, options);
  data.name = without_gz(file).stem().string();
  data.source = file.string();
  return data;
}

constexpr std::string_view generated = "gen:";

bool is_generated(const std::string& source) { return source.starts_with(generated); }

Dataset load(const std::string& source, std::size_t rows, const ReadOptions& options) {
  if (!is_generated(source)) {
    ReadOptions with_rows = options;
    with_rows.max_rows = rows;
    return read_dataset(source, with_rows);
  }
  const FieldChoice& fields = options.fields;
  if (!fields.targets.empty() || !fields.inputs.empty() || !fields.categories.empty())
    throw std::invalid_argument(
        "--target, --inputs and --category choose columns of a file; a generator has its own");
  Dataset data = generate(std::string_view(source).substr(generated.size()), rows);
  for (const std::string& name : data.input_names)
    data.schema.fields.push_back({.name = name, .role = Role::input});
  for (const std::string& name : data.target_names)
    data.schema.fields.push_back({.name = name, .role = Role::target});
  return data;
}

}  // namespace kalstream
