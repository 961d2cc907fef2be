#include "serve/body_records.h"

#include <algorithm>

#include "core/archive.h"
#include "data/dataset.h"

namespace kalstream::serve {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Where the element of an array that begins here ends: at a comma or bracket of the array itself.
std::size_t end_of_element(std::string_view text) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (in_text) {
      if (c == '\\') ++k;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return k;
      --depth;
    } else if (c == ',' && depth == 0) {
      return k;
    }
  }
  return text.npos;
}

}  // namespace

bool is_array(std::string_view body) { return trimmed(body).starts_with('['); }

bool is_sound_array(std::string_view body) {
  std::string_view rest = trimmed(body);
  if (!rest.starts_with('[') || !rest.ends_with(']')) return false;
  rest.remove_prefix(1);
  if (trimmed(rest) == "]") return true;
  while (true) {
    const std::size_t end = end_of_element(rest);
    if (end >= rest.size() || trimmed(rest.substr(0, end)).empty()) return false;
    if (rest[end] != ',') return rest[end] == ']' && end + 1 == rest.size();
    rest.remove_prefix(end + 1);
  }
}

std::size_t most_samples(const Input& input) {
  if (input.kind == Input::Kind::object) return 1;
  const char mark = input.kind == Input::Kind::array ? '{' : '\n';
  return 1 + static_cast<std::size_t>(std::ranges::count(input.body, mark));
}

void BodyRecords::open(const Input& input, std::chrono::steady_clock::time_point arrival) {
  kind_ = input.kind;
  arrival_ = arrival;
  rest_ = input.body;
  if (kind_ == Input::Kind::array) {
    rest_ = trimmed(rest_);
    rest_.remove_prefix(1);  // the bracket
    if (trimmed(rest_) == "]") rest_ = {};
  }
  reader_ = RecordReader({.format = is_json() ? Format::json : Format::delimited});
}

std::optional<std::string_view> BodyRecords::next_line() {
  if (rest_.empty()) return {};
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(rest_.size(), end + 1));
  return line;
}

std::optional<std::string_view> BodyRecords::next_element() {
  if (rest_.empty()) return {};
  const std::size_t end = std::min(end_of_element(rest_), rest_.size());
  const std::string_view element = rest_.substr(0, end);
  rest_.remove_prefix(end);
  if (rest_.starts_with(','))
    rest_.remove_prefix(1);
  else
    rest_ = {};
  return element;
}

Source::Event BodyRecords::next(Record& record, std::chrono::milliseconds) {
  while (true) {
    std::optional<std::string_view> line;
    if (kind_ == Input::Kind::object) {
      if (!rest_.empty()) line = std::exchange(rest_, {});
    } else {
      line = kind_ == Input::Kind::array ? next_element() : next_line();
    }
    if (!line) return Event::end;
    ++line_;
    try {
      if (reader_.read(*line, record)) return Event::record;
    } catch (const DataError& error) {
      problem_ = error.what();
      return Event::problem;
    }
  }
}

void BodyRecords::exchange(Archive& archive) {
  archive.count(line_);
  archive.count(entry);
  if (!archive.reading()) written_entry = entry;
}

}  // namespace kalstream::serve
