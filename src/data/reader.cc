#include "data/reader.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <system_error>

#include "data/table.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using reading::fail;
using reading::shown;
using reading::Table;
using reading::TextFile;

using Columns = std::vector<std::size_t>;  // positions in a table

// Files.

constexpr std::string_view standard_input = "-";

void require_file(const std::string& path) {
  std::error_code ignored;  // A file of unknown status fails when it is opened.
  const fs::file_status status = fs::status(path, ignored);
  if (status.type() == fs::file_type::not_found) fail(path, 0, "does not exist; check the path");
  if (fs::is_directory(status)) fail(path, 0, "is a directory; name a file in it");
}

/// Chunk by chunk, since a pipe has no size.
std::string read_all(const std::string& path) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, 0, "cannot be opened; check its permissions");
  std::string text;
  while (in) {
    const std::size_t size = text.size();
    text.resize(size + chunk);
    in.read(text.data() + size, chunk);
    text.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) fail(path, 0, "cannot be read to its end; check the disk and try again");
  return text;
}

TextFile read_text(const std::string& path) {
  TextFile file{path, read_all(path)};
  if (file.text.starts_with("\xff\xfe") || file.text.starts_with("\xfe\xff"))
    fail(path, 1, "the text is encoded as UTF-16; save it as UTF-8");
  if (file.text.starts_with("\xef\xbb\xbf")) file.text.erase(0, 3);
  return file;
}

Table read_table(const std::string& path, std::size_t limit) {
  if (path == standard_input) return read_csv(read_text("/dev/stdin"), ",;\t", true, limit);
  require_file(path);
  const std::string extension = reading::lower_case(fs::path(path).extension().string());
  const auto is = [&](std::string_view known) { return extension == known; };
  if (is(".csv")) return read_csv(read_text(path), ",;", false, limit);
  if (is(".tsv")) return read_csv(read_text(path), "\t", false, limit);
  if (is(".txt") || is(".dat")) return read_csv(read_text(path), ",;\t", true, limit);
  if (is(".jsonl") || is(".ndjson")) return read_jsonl(read_text(path), limit);
  if (is(".arff")) return read_arff(read_text(path), limit);
  if (is(".mat")) return reading::read_mat({path, read_all(path)}, limit);
  fail(path, 0,
       "has the unknown extension " + shown(extension, '\'') +
           "; use .csv, .tsv, .txt, .dat, .jsonl, .ndjson, .arff or .mat");
}

void require_rows(const std::string& path, const Table& table) {
  if (table.columns.empty()) fail(path, 0, "holds no data; write one row per sample");
  if (table.rows() == 0) fail(path, 0, "holds column names but no rows; write one row per sample");
}

// Columns.

std::string list_columns(const std::vector<std::string>& columns) {
  constexpr std::size_t most = 50;
  std::string text;
  for (std::size_t c = 0; c < std::min(columns.size(), most); ++c)
    text += (c > 0 ? ", " : "") + shown(columns[c]);
  return columns.size() > most ? text + ", …" : text;
}

/// The position a 1-based number stands for; `columns` if it is none.
std::size_t numbered_column(std::string_view text, std::size_t columns) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const bool valid = result.ec == std::errc() && result.ptr == end;
  return valid && number >= 1 && number <= columns ? number - 1 : columns;
}

/// `part` is what the column is to be.
std::size_t find_column(const std::string& path, const std::vector<std::string>& columns,
                        const std::string& wanted, const std::string& part) {
  const auto named = std::ranges::find(columns, wanted);
  if (named == columns.end()) {
    const std::size_t position = numbered_column(wanted, columns.size());
    if (position < columns.size()) return position;
    fail(path, 0,
         "has no column " + shown(wanted) + " to be the " + part + "; choose one of " +
             list_columns(columns) + ", or a number from 1 to " + std::to_string(columns.size()));
  }
  if (std::find(named + 1, columns.end(), wanted) != columns.end())
    fail(path, 0,
         "has several columns " + shown(wanted) + "; rename them, or give the " + part +
             "'s number, counted from 1");
  return static_cast<std::size_t>(named - columns.begin());
}

bool holds(const Columns& columns, std::size_t column) {
  return std::ranges::find(columns, column) != columns.end();
}

Columns find_columns(const std::string& path, const Table& table,
                     const std::vector<std::string>& wanted, const std::string& part) {
  Columns chosen;
  for (const std::string& name : wanted) {
    const std::size_t column = find_column(path, table.columns, name, part);
    if (holds(chosen, column))
      fail(path, 0,
           "column " + shown(table.columns[column]) + " is named twice as " + part +
               "; name it once");
    chosen.push_back(column);
  }
  return chosen;
}

Columns last_columns(const Table& table) {
  Columns last;
  for (std::size_t c = table.columns.size() - table.default_targets; c < table.columns.size(); ++c)
    last.push_back(c);
  return last;
}

Columns target_columns(const std::string& path, const Table& table,
                       const std::vector<std::string>& targets) {
  return targets.empty() ? last_columns(table) : find_columns(path, table, targets, "target");
}

bool is_constant_one(const Table& table, std::size_t column) {
  for (std::size_t i = column; i < table.values.size(); i += table.columns.size())
    if (table.values[i] != 1) return false;
  return true;
}

Columns input_columns(const std::string& path, const Table& table,
                      const std::vector<std::string>& inputs, const Columns& targets) {
  if (inputs == std::vector<std::string>{"none"}) return {};
  Columns chosen = find_columns(path, table, inputs, "input");
  for (std::size_t c : chosen)
    if (holds(targets, c))
      fail(path, 0,
           "column " + shown(table.columns[c]) +
               " is the target and cannot be an input; choose another, or none");
  for (std::size_t c = 0; inputs.empty() && c < table.columns.size(); ++c)
    if (!holds(targets, c)) chosen.push_back(c);
  std::erase_if(chosen, [&](std::size_t c) { return is_constant_one(table, c); });
  return chosen;
}

std::vector<std::string> names_of(const Table& table, const Columns& columns) {
  std::vector<std::string> names;
  for (std::size_t c : columns) names.push_back(table.columns[c]);
  return names;
}

std::vector<double> values_of(const Table& table, const Columns& columns) {
  std::vector<double> values;
  values.reserve(table.rows() * columns.size());
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t c : columns) values.push_back(table.values[row * table.columns.size() + c]);
  return values;
}

}  // namespace

Dataset read_dataset(const fs::path& file, const ReadOptions& options) {
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  const std::string path = file.string();
  Table table = read_table(path, options.max_rows == 0 ? all : options.max_rows);
  require_rows(path, table);
  const Columns targets = target_columns(path, table, options.columns.targets);
  const Columns inputs = input_columns(path, table, options.columns.inputs, targets);
  return {.name = file.stem().string(),
          .source = path,
          .input_names = names_of(table, inputs),
          .target_names = names_of(table, targets),
          .inputs = values_of(table, inputs),
          .targets = values_of(table, targets),
          .lines = std::move(table.lines)};
}

}  // namespace kalstream
