#include "data/json_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "data/dataset.h"

namespace kalstream {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = 32;
constexpr std::size_t most_fields = 100'000;
constexpr const char* expected = "; write one object or array per line";

}  // namespace

/// Takes the parser's events and adds the fields. Events instead of a document, because a document
/// loses the order of the keys, which tells the last field.
class JsonLines::Events final : public nlohmann::json_sax<Json> {
 public:
  Events(Record& record, std::string& path) : record_(record), path_(path) { path_.clear(); }

  bool null() override { return add({}), true; }
  bool boolean(bool v) override { return add_number(v ? 1 : 0, v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override {
    return add_number(static_cast<double>(v), digits(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    return add_number(static_cast<double>(v), digits(v));
  }
  bool number_float(number_float_t v, const string_t& written) override {
    return add_number(v, written);
  }
  bool string(string_t& v) override {
    Value& value = add(v);
    value.quoted = true;
    interpret(v, '.', value);
    return true;
  }
  bool binary(binary_t&) override {
    throw DataError(std::string("the line is no text") + expected);
  }

  bool start_object(std::size_t) override { return start(false); }
  bool start_array(std::size_t) override { return start(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(string_t& name) override {
    const Level& level = levels_[depth_ - 1];
    path_.resize(level.path);
    if (depth_ > 1) path_ += '.';
    path_ += name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow)
      throw DataError(shown(token, '\'') +
                      " is beyond the range of numbers; write null to mark a value as missing");
    throw DataError("invalid JSON at character " + std::to_string(position) + expected);
  }

 private:
  struct Level {
    bool list = false;
    std::size_t path = 0;    // length of the structure's own path
    std::size_t first = 0;   // its first field in the record
    std::size_t values = 0;  // of a list, so far
  };

  std::string_view digits(auto v) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), v).ptr;
    return {digits_.data(), end};
  }

  /// Before a value: one in a list is named by its place.
  void begin_value() {
    if (depth_ == 0 || !levels_[depth_ - 1].list) return;
    Level& level = levels_[depth_ - 1];
    path_.resize(level.path);
    path_ += depth_ == 1 ? 'x' : '.';
    path_ += digits(++level.values);
  }

  Value& add(std::string_view text) {
    if (depth_ == 0) throw DataError(std::string("the line is a single value") + expected);
    begin_value();
    return add_field(text);
  }

  Value& add_field(std::string_view text) {
    if (record_.fields().size() == most_fields)
      throw DataError("the line has more than " + std::to_string(most_fields) +
                      " fields; leave out what is not needed");
    Value& value = record_.add(path_);
    value.text = text;
    return value;
  }

  bool add_number(double number, std::string_view text) {
    Value& value = add(text);
    value.kind = Value::Kind::number;
    value.number = number;
    return true;
  }

  bool start(bool list) {
    begin_value();
    if (depth_ == deepest)
      throw DataError("the line is nested deeper than " + std::to_string(deepest) +
                      " levels; write what is needed further up");
    if (depth_ == 0) record_.is_row = list;
    if (depth_ == 0) record_.named = !list;
    levels_[depth_++] = {.list = list, .path = path_.size(), .first = record_.fields().size()};
    return true;
  }

  bool end() {
    const Level& level = levels_[--depth_];
    path_.resize(level.path);
    if (depth_ == 0) return true;
    if (record_.fields().size() == level.first) add_field({});  // an empty list is a missing value
    if (level.list && level.values == 1) drop_place(level);
    return true;
  }

  /// The value of a list of one has the list's name: "a.1.b" becomes "a.b".
  void drop_place(const Level& level) {
    for (Record::Field& f : record_.fields().subspan(level.first)) f.name.erase(level.path, 2);
  }

  Record& record_;
  std::string& path_;
  std::array<Level, deepest> levels_;
  std::size_t depth_ = 0;
  std::array<char, 24> digits_;
};

void JsonLines::read(std::string_view line, Record& record) {
  record.clear();
  Events events(record, path_);
  Json::sax_parse(line, &events);
  require_distinct(record);
}

void JsonLines::require_distinct(const Record& record) {
  const auto fields = record.fields();
  if (std::ranges::equal(fields, last_names_, {}, &Field::name)) return;
  sorted_.clear();
  for (const Record::Field& f : fields) sorted_.emplace_back(f.name);
  std::ranges::sort(sorted_);
  const auto twice = std::ranges::adjacent_find(sorted_);
  if (twice != sorted_.end())
    throw DataError("the key " + shown(*twice) + " appears twice; rename one");
  last_names_.resize(fields.size());
  for (std::size_t k = 0; k < fields.size(); ++k) last_names_[k] = fields[k].name;
}

}  // namespace kalstream
