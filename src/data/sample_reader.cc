#include "data/sample_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/archive.h"
#include "core/finite.h"
#include "data/records.h"

namespace kalstream {
namespace {

using Json = nlohmann::json;
using reading::CellKind;
using reading::shown;

constexpr std::string_view default_target = "target";
constexpr double none = std::numeric_limits<double>::quiet_NaN();  // in the place of a number

bool is_text(std::string_view cell) {
  return reading::parse_cell(reading::unquoted(cell)).kind == CellKind::text;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + shown(name);
  return text;
}

}  // namespace

SampleReader::SampleReader(std::string source, SampleFields fields)
    : source_(std::move(source)), fields_(std::move(fields)) {}

// ---- JSON.

/// Takes the parser's events and notes the fields of one line. Structures inside of it are passed
/// over, but for lists of numbers.
class SampleReader::JsonFields final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonFields(SampleReader& reader) : reader_(reader) {}

  bool null() override { return value(Type::missing, 0, {}); }
  bool boolean(bool v) override { return value(Type::number, v ? 1 : 0, v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override {
    return value(Type::number, static_cast<double>(v), digits(v));
  }
  bool number_unsigned(number_unsigned_t v) override {
    return value(Type::number, static_cast<double>(v), digits(v));
  }
  bool number_float(number_float_t v, const string_t& written) override {
    return value(Type::number, v, written);
  }
  bool string(string_t& v) override { return value(Type::text, 0, v); }
  bool binary(binary_t&) override { reader_.fail("the line is not text; write JSON"); }

  bool start_object(std::size_t) override {
    if (depth_ == 0) object_ = true;
    if (depth_ > 0) value(Type::text, 0, {});
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 1) {
      Field& f = field();
      f.type = Type::list;
      f.first = reader_.numbers_.size();
      f.count = 0;
    } else if (depth_ > 1) {
      value(Type::text, 0, {});
    }
    ++depth_;
    return true;
  }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(string_t& name) override {
    if (depth_ == 1) reader_.add_field(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow)
      reader_.fail(shown(token, '\'') +
                   " is beyond the range of numbers; write null to mark a value as missing");
    reader_.fail("invalid JSON at character " + std::to_string(position) +
                 "; write one object or array per line");
  }

 private:
  std::string_view digits(auto v) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), v).ptr;
    return {digits_.data(), end};
  }

  bool end() {
    --depth_;
    return true;
  }

  // The one that the next value belongs to.
  Field& field() {
    if (!object_) return reader_.add_field(reading::column_name(reader_.n_found_));
    return reader_.found_[reader_.n_found_ - 1];
  }

  bool value(Type type, double v, std::string_view text) {
    if (depth_ == 0) reader_.fail("the line is a single value; write one object or array per line");
    if (depth_ == 1) {
      Field& f = field();
      f.type = type;
      f.first = reader_.numbers_.size();
      f.count = type == Type::number ? 1 : 0;
      if (type == Type::text || reader_.is_name(f.name)) f.text = text;
    } else if (depth_ == 2 && reader_.found_[reader_.n_found_ - 1].type == Type::list) {
      Field& f = reader_.found_[reader_.n_found_ - 1];
      if (type == Type::text) f.type = type;
      if (type == Type::missing) reader_.numbers_.push_back(none);
      ++f.count;
    }
    if (type == Type::number) reader_.numbers_.push_back(v);
    return true;
  }

  SampleReader& reader_;
  std::size_t depth_ = 0;
  bool object_ = false;
  std::array<char, 24> digits_;
};

void SampleReader::parse_json(std::string_view line) {
  JsonFields fields(*this);
  Json::sax_parse(line, &fields);
}

// ---- Delimited text.

// The names of all fields that samples are made of, and no number among them.
bool SampleReader::is_header(const std::vector<std::string_view>& cells) const {
  for (const auto* parts : {&inputs_, &targets_})
    for (const Part& part : *parts)
      if (std::ranges::none_of(
              cells, [&](std::string_view cell) { return reading::unquoted(cell) == part.name; }))
        return false;
  // Names may be numbers (0, 1, 2, as tools write them); measurements are none.
  return std::ranges::any_of(cells, is_text) && std::ranges::none_of(cells, [](auto cell) {
           const std::string_view text = reading::unquoted(cell);
           return reading::parse_cell(text).kind == CellKind::number &&
                  text.find_first_not_of("0123456789") != std::string_view::npos;
         });
}

// False if the line is blank, a comment or a header.
bool SampleReader::parse_delimited(std::string_view line) {
  constexpr char comment = '#';
  const reading::TextFile file{source_, {}};
  if (!settled_) delimiter_ = reading::detect_delimiter(line, comment, ",;\t", ' ');
  reading::Records records(file, line, line_ - 1, {delimiter_, comment});
  if (!records.next()) return false;
  const auto& cells = records.fields();
  if (!settled_ && cells.size() != columns_.size()) columns_.clear();  // was no header after all
  const bool may_be_header = settled_ ? is_text(cells.front()) && cells.size() == columns_.size()
                                      : std::ranges::all_of(cells, is_text);
  if (columns_.empty() || may_be_header) {
    const bool header = is_header(cells);
    if (header || columns_.empty()) {
      columns_.clear();
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const std::string_view name = reading::unquoted(cells[c]);
        columns_.push_back(header && !name.empty() ? std::string(name) : reading::column_name(c));
      }
    }
    if (header) return false;
  }
  if (cells.size() != columns_.size())
    fail("the row has " + std::to_string(cells.size()) + " fields, but there are " +
         std::to_string(columns_.size()) +
         " columns; complete it (an empty field marks a missing value)");
  for (std::size_t c = 0; c < cells.size(); ++c) {
    Field& f = add_field(columns_[c]);
    const std::string_view text = reading::unquoted(cells[c]);
    const reading::Cell cell = reading::parse_cell(text);
    if (cell.kind == CellKind::out_of_range)
      reading::fail_cell(source_, line_, f.name, text, cell.kind,
                         "leave it empty if it is missing");
    f.type = cell.kind == CellKind::number    ? Type::number
             : cell.kind == CellKind::missing ? Type::missing
                                              : Type::text;
    f.first = numbers_.size();
    f.count = f.type == Type::number ? 1 : 0;
    if (f.type == Type::number) numbers_.push_back(cell.value);
    if (f.type == Type::text || is_name(f.name)) f.text = text;
  }
  return true;
}

// ---- Fields.

SampleReader::Field& SampleReader::add_field(std::string_view name) {
  if (n_found_ == found_.size()) found_.emplace_back();
  Field& f = found_[n_found_++];
  f.name = name;
  f.type = Type::missing;
  f.count = 0;
  f.text.clear();
  return f;
}

// `at` is where it was found last, and mostly still is.
const SampleReader::Field* SampleReader::find(std::string_view name, std::size_t& at) const {
  if (at < n_found_ && found_[at].name == name) return &found_[at];
  for (std::size_t k = 0; k < n_found_; ++k)
    if (found_[k].name == name) {
      at = k;
      return &found_[k];
    }
  return nullptr;
}

std::size_t SampleReader::width(const std::vector<Part>& parts) {
  std::size_t sum = 0;
  for (const Part& part : parts) sum += part.width;
  return sum;
}

std::vector<std::string> SampleReader::names(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (const Part& part : parts)
    for (std::size_t k = 0; k < part.width; ++k)
      names.push_back(part.width == 1 ? part.name : part.name + '.' + std::to_string(k + 1));
  return names;
}

void SampleReader::fail(std::string_view message) const { reading::fail(source_, line_, message); }

// A field by its name or its number, counted from 1.
SampleReader::Part SampleReader::part_named(const std::string& name, const char* role,
                                            bool may_be_absent) const {
  std::size_t at = 0;
  const Field* f = find(name, at);
  if (f == nullptr) {
    std::size_t number = 0;
    const char* const end = name.data() + name.size();
    const auto result = std::from_chars(name.data(), end, number);
    if (result.ec == std::errc() && result.ptr == end && number >= 1 && number <= n_found_)
      f = &found_[number - 1];
  }
  if (f == nullptr) {
    if (may_be_absent) return {name};
    std::vector<std::string> there;
    for (std::size_t k = 0; k < n_found_; ++k) there.push_back(found_[k].name);
    fail("there is no field " + shown(name) + " to be the " + role + "; there are " +
         list_of(there));
  }
  if (f->type == Type::text)
    fail("the " + std::string(role) + ' ' + shown(f->name) +
         " is not a number; name another with --target or --inputs");
  return {f->name, f->type == Type::list ? std::max<std::size_t>(f->count, 1) : 1,
          static_cast<std::size_t>(f - found_.data())};
}

void SampleReader::settle() {
  const bool json = format_ == SampleFields::Format::json;
  std::size_t at = 0;
  const bool has_id = find(fields_.id, at) != nullptr;
  std::vector<Part> targets;
  for (const std::string& name : fields_.columns.targets)
    targets.push_back(part_named(name, "target", json));
  const auto is_number = [&](const Field& f) { return f.type != Type::text && !is_name(f.name); };
  if (targets.empty() && find(default_target, at) != nullptr)
    targets.push_back(part_named(std::string(default_target), "target", false));
  if (targets.empty() && has_id)
    fail("which field is the target? There is none named \"target\"; name it with --target");
  for (std::size_t k = n_found_; k > 0 && targets.empty(); --k)
    if (is_number(found_[k - 1]))
      targets.push_back(part_named(found_[k - 1].name, "target", false));
  if (targets.empty()) fail("there is no number to be the target; name it with --target");

  const auto is_part = [](const std::vector<Part>& parts, const std::string& name) {
    return std::ranges::any_of(parts, [&](const Part& part) { return part.name == name; });
  };
  std::vector<Part> inputs;
  std::vector<std::string> ignored;
  const bool none = fields_.columns.inputs == std::vector<std::string>{"none"};
  if (!none)
    for (const std::string& name : fields_.columns.inputs) {
      inputs.push_back(part_named(name, "input", false));
      if (is_part(targets, inputs.back().name))
        fail("the target " + shown(name) + " cannot be an input as well; choose another");
    }
  for (std::size_t k = 0; k < n_found_ && fields_.columns.inputs.empty(); ++k) {
    const std::string& name = found_[k].name;
    if (is_part(targets, name) || is_name(name)) continue;
    if (is_part(inputs, name)) fail("the field " + shown(name) + " appears twice; rename one");
    if (is_number(found_[k]))
      inputs.push_back(part_named(name, "input", false));
    else
      ignored.push_back(name);
  }
  if (!fields_.key.empty() && find(fields_.key, at) == nullptr)
    fail("there is no field " + shown(fields_.key) + "; --key must name one");
  expected_later_.clear();
  for (const Part& part : targets)
    if (find(part.name, at) == nullptr) expected_later_.push_back(part.name);
  inputs_ = std::move(inputs);
  targets_ = std::move(targets);
  ignored_ = std::move(ignored);
  fields_.format = format_;
  settled_ = true;
}

// The numbers of these parts, into `values`; how many of them are missing in the line.
std::size_t SampleReader::take(std::vector<Part>& parts, std::vector<double>& values) {
  values.clear();
  for (Part& part : parts) {
    const Field* f = find(part.name, part.at);
    if (f == nullptr || f->type == Type::missing) {
      values.insert(values.end(), part.width, none);
      continue;
    }
    if (f->type == Type::text)
      reading::fail_cell(source_, line_, f->name, f->text, CellKind::text,
                         "write a number, or null or nothing if it is missing");
    if (f->count != part.width)
      fail("the list " + shown(f->name) + " has " + std::to_string(f->count) + " numbers, not " +
           std::to_string(part.width) + "; write as many as in the first line");
    for (std::size_t k = 0; k < f->count; ++k) values.push_back(numbers_[f->first + k]);
  }
  std::size_t missing = 0;
  for (const double v : values) {
    if (std::isnan(v))
      ++missing;
    else if (std::abs(v) > largest_magnitude)
      fail("a number is beyond ±1e100; rescale the data, or write null if it is missing");
  }
  return missing;
}

void SampleReader::take_names() {
  sample_.id.clear();
  sample_.key.clear();
  std::size_t at = 0;
  if (const Field* f = find(fields_.id, at); f != nullptr && f->type != Type::missing) {
    sample_.id = f->text;
    sample_.id_is_text = f->type == Type::text;
  }
  if (fields_.key.empty()) return;
  const Field* f = find(fields_.key, at);
  if (f == nullptr || f->text.empty())
    fail("the field " + shown(fields_.key) +
         " is missing: it tells which model the line is for; write it in every line");
  sample_.key = f->text;
}

std::string SampleReader::missing_inputs() const {
  std::vector<std::string> missing;
  const double* x = sample_.x.data();
  for (const Part& part : inputs_) {
    if (std::any_of(x, x + part.width, [](double v) { return std::isnan(v); }))
      missing.push_back(part.name);
    x += part.width;
  }
  return list_of(missing);
}

Sample& SampleReader::read(std::string_view line, std::uint64_t number) {
  line_ = number;
  n_found_ = 0;
  numbers_.clear();
  sample_.kind = Sample::Kind::nothing;
  if (line.size() > longest_line)
    fail("the line is longer than " + std::to_string(longest_line) + " bytes");
  if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  line = reading::trim(line);
  if (line.empty() || line.front() == '#') return sample_;

  // Until a first sample has settled it, every line may turn out to be either.
  const bool json_like = line.front() == '{' || line.front() == '[';
  const auto guess = json_like ? SampleFields::Format::json : SampleFields::Format::delimited;
  format_ = fields_.format == SampleFields::Format::unknown ? guess : fields_.format;
  if (format_ == SampleFields::Format::json)
    parse_json(line);
  else if (!parse_delimited(line))
    return sample_;
  if (!settled_) settle();

  take_names();
  sample_.missing = take(inputs_, sample_.x);
  if (take(targets_, target_) == 0)
    sample_.d = target_;
  else
    sample_.d.clear();
  const bool no_inputs = sample_.missing == sample_.x.size();
  const bool anything = !no_inputs || !sample_.id.empty() || !sample_.d.empty();
  if (!inputs_.empty() && no_inputs && !sample_.id.empty() && !sample_.d.empty()) {
    sample_.kind = Sample::Kind::label;
    sample_.x.clear();
    sample_.missing = 0;
  } else if (sample_.missing == 0 || (fields_.partial && anything)) {
    sample_.kind = Sample::Kind::inputs;
  } else {
    fail("without a number: " + missing_inputs() +
         (fields_.partial ? "; and there is nothing else in the line"
                          : "; every line needs all inputs (or an id and the target of an earlier "
                            "one); with --missing hold they keep their last values"));
  }
  return sample_;
}

void SampleReader::exchange(Archive& archive) {
  const auto text = [&](std::string& t) {
    std::string_view view = t;
    archive.text(view);
    if (archive.reading()) t = view;
  };
  const auto count = [&](std::size_t n) {
    constexpr std::size_t least = 8;  // bytes that each takes
    archive.count(n, archive.reading() ? archive.left() / least : longest_line);
    return n;
  };
  archive.flag(settled_);
  auto format = static_cast<std::uint64_t>(fields_.format);
  archive.count(format, static_cast<std::uint64_t>(SampleFields::Format::delimited));
  fields_.format = static_cast<SampleFields::Format>(format);
  std::uint64_t delimiter = static_cast<unsigned char>(delimiter_);
  archive.count(delimiter, 255);
  delimiter_ = static_cast<char>(delimiter);
  text(fields_.id);
  text(fields_.key);
  columns_.resize(count(columns_.size()));
  for (std::string& column : columns_) text(column);
  for (auto* parts : {&inputs_, &targets_}) {
    parts->resize(count(parts->size()));
    for (Part& part : *parts) {
      text(part.name);
      archive.count(part.width, longest_line);
    }
  }
  archive.require(!settled_ || !targets_.empty());
  archive.require(inputs() + outputs() <= longest_line);  // no line has more
}

}  // namespace kalstream
