// JSON lines: one object or one array of numbers per line.
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "data/table.h"

namespace kalstream::reading {
namespace {

using Json = nlohmann::json;

constexpr const char* kExpected =
    "write one object or array of numbers per line, with null for a missing value";

/// Takes the parser's events and appends a row to the table per line. Events instead of a document,
/// because a document loses the order of the keys, which tells the last column.
class RowBuilder : public nlohmann::json_sax<Json> {
 public:
  RowBuilder(const TextFile& file, Table& table) : file_(file), table_(table) {}

  void read_line(std::string_view text, std::size_t line) {
    line_ = line;
    depth_ = 0;
    column_ = 0;
    row_.assign(table_.columns.size(), std::nullopt);
    Json::sax_parse(text, this);
    append_row();
  }

  bool null() override { return add(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool value) override { return add(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override {
    if (depth_ == 0) fail_line("the line is a single value");
    fail_cell(file_.path, line_, this_column(), value, CellKind::text,
              "write a number, or null to mark it missing");
  }
  bool binary(binary_t&) override { fail_line("the line is not text"); }

  bool start_object(std::size_t) override { return start(true); }
  bool start_array(std::size_t) override { return start(false); }
  bool end_object() override { return true; }
  bool end_array() override { return true; }

  bool key(string_t& name) override {
    if (defining())
      define(name);
    else
      column_ = find(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow)
      fail_cell(file_.path, line_, this_column(), token, CellKind::out_of_range,
                "remove the row or write null to mark it missing");
    fail_line("invalid JSON at character " + std::to_string(position));
  }

 private:
  /// The first row says what the columns are.
  bool defining() const { return table_.rows() == 0; }

  std::string this_column() const {
    return column_ < table_.columns.size() ? table_.columns[column_] : column_name(column_);
  }

  bool start(bool object) {
    if (depth_++ > 0) fail_line("the value of column " + shown(this_column()) + " is a structure");
    if (defining()) objects_ = object;
    if (objects_ != object) fail_line("objects and arrays are mixed");
    return true;
  }

  void define(const std::string& name) {
    column_ = table_.columns.size();
    if (!positions_.emplace(name, column_).second) fail_key(name, "appears twice");
    table_.columns.push_back(name);
    row_.emplace_back();
  }

  std::size_t find(const std::string& name) const {
    // Rows mostly keep the order of the first one.
    if (column_ < table_.columns.size() && table_.columns[column_] == name) return column_;
    const auto position = positions_.find(name);
    if (position == positions_.end()) fail_key(name, "is not in the first row");
    return position->second;
  }

  bool add(double value) {
    if (depth_ == 0) fail_line("the line is a single value");
    if (defining() && !objects_) define(column_name(column_));
    if (column_ >= row_.size()) fail_size();
    if (row_[column_]) fail_key(table_.columns[column_], "appears twice");
    row_[column_++] = value;
    return true;
  }

  void append_row() {
    if (row_.empty()) fail_line("the first row has no values");
    if (!objects_ && column_ < row_.size()) fail_size();
    for (std::size_t c = 0; c < row_.size(); ++c) {
      if (!row_[c]) fail_key(table_.columns[c], "is missing");
      table_.values.push_back(*row_[c]);
    }
    table_.lines.push_back(line_);
  }

  [[noreturn]] void fail_line(const std::string& wrong) const {
    fail(file_.path, line_, wrong + "; " + kExpected);
  }
  [[noreturn]] void fail_size() const {
    fail_line("the row has not the " + std::to_string(row_.size()) + " values of the first row");
  }
  [[noreturn]] void fail_key(const std::string& name, const char* wrong) const {
    fail(file_.path, line_,
         "the key " + shown(name) + ' ' + wrong +
             "; give every row the keys of the first, with null for a missing value");
  }

  const TextFile& file_;
  Table& table_;
  bool objects_ = true;
  std::unordered_map<std::string, std::size_t> positions_;
  std::vector<std::optional<double>> row_;
  std::size_t line_ = 0;
  std::size_t depth_ = 0;
  std::size_t column_ = 0;  ///< of the value expected next
};

}  // namespace

Table read_jsonl(const TextFile& file, std::size_t limit) {
  Table table;
  RowBuilder rows(file, table);
  Lines lines(file.text, '#');
  while (table.rows() < limit && lines.next()) rows.read_line(lines.line(), lines.number());
  return table;
}

}  // namespace kalstream::reading
