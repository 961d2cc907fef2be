#include "serve/body_records.h"

#include <algorithm>

#include "core/archive.h"

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

std::optional<std::vector<std::string_view>> elements_of(std::string_view body) {
  constexpr std::size_t most = 2'000'000;  // their answers would take more than a request may
  std::string_view rest = trimmed(body);
  if (!rest.starts_with('[') || !rest.ends_with(']')) return {};
  rest.remove_prefix(1);
  std::vector<std::string_view> elements;
  if (trimmed(rest) == "]") return elements;
  while (true) {
    const std::size_t end = end_of_element(rest);
    if (end >= rest.size() || trimmed(rest.substr(0, end)).empty()) return {};
    if (elements.size() < most) elements.push_back(rest.substr(0, end));
    const bool is_last = rest[end] != ',';
    if (is_last && (rest[end] != ']' || end + 1 != rest.size())) return {};
    if (is_last) return elements;
    rest.remove_prefix(end + 1);
  }
}

std::size_t most_samples(const Input& input) {
  if (input.kind == Input::Kind::object) return 1;
  if (input.kind == Input::Kind::array) return 1 + input.elements.size();
  return 1 + static_cast<std::size_t>(std::ranges::count(input.body, '\n'));
}

void BodyRecords::open(const Input& input, std::chrono::steady_clock::time_point arrival) {
  kind_ = input.kind;
  arrival_ = arrival;
  rest_ = input.body;
  elements_ = input.elements;
  reader_ = RecordReader({.format = is_json() ? Format::json : Format::delimited});
}

// The text of the next sample.
std::optional<std::string_view> BodyRecords::next_text() {
  if (kind_ == Input::Kind::array) {
    if (elements_.empty()) return {};
    const std::string_view element = elements_.front();
    elements_ = elements_.subspan(1);
    return element;
  }
  if (rest_.empty()) return {};
  const std::size_t end =
      kind_ == Input::Kind::object ? rest_.size() : std::min(rest_.find('\n'), rest_.size());
  const std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(std::min(rest_.size(), end + 1));
  return text;
}

Source::Event BodyRecords::next(std::vector<Arrival>& arrivals, std::size_t most,
                                std::chrono::milliseconds, Workers*) {
  std::size_t count = 0;
  while (count < most) {
    const auto text = next_text();
    if (!text) break;
    if (arrivals.size() == count) arrivals.emplace_back();
    Arrival& arrival = arrivals[count];
    arrival.line = ++line_;
    arrival.since = arrival_;
    reader_.read(*text, arrival);
    count += arrival.is_silent() ? 0 : 1;
  }
  arrivals.resize(count);
  return count > 0 ? Event::records : Event::end;
}

void BodyRecords::exchange(Archive& archive) {
  archive.count(line_);
  archive.count(entry);
  if (archive.reading()) return archive.text(board_there);
  std::string shown = board();
  archive.text(shown);
  written_entry = entry;
}

}  // namespace kalstream::serve
