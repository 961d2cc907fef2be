#include "lines/delimited.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "schema/dialect.h"
#include "schema/timestamp.h"
#include "schema/value.h"

namespace kalstream::delimited {
namespace {

constexpr std::size_t most_cells = 100'000;

/// One line on the way of becoming cells.
class Splitting {
 public:
  Splitting(std::string_view line, char delimiter, std::string_view quotes)
      : at_(line.data()), end_(line.data() + line.size()), delimiter_(delimiter), quotes_(quotes) {}

  void run(Cells& cells) {
    cells.clear();
    do {
      if (cells.size() == most_cells)
        throw DataError("the line has more than " + std::to_string(most_cells) +
                        " fields; leave out what is not needed");
      cells.push_back(next());
    } while (skip_delimiter());
  }

 private:
  const char* end_of_cell() const {
    if (delimiter_ == 0) return end_;
    if (delimiter_ == ' ') return std::find_if(at_, end_, is_blank);
    const std::size_t length = std::string_view(at_, end_).find(delimiter_);
    return length == std::string_view::npos ? end_ : at_ + length;
  }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_) && (delimiter_ == ' ' || *at_ != delimiter_)) ++at_;
  }
  bool skip_delimiter() {
    skip_blanks();
    if (at_ == end_) return false;
    if (delimiter_ != ' ') ++at_;
    return true;
  }

  Cell next() {
    skip_blanks();
    const char* const begin = at_;
    const bool quoted = at_ != end_ && (*at_ == quotes_.front() || *at_ == quotes_.back());
    if (quoted) skip_quotes(*at_);
    const char* const closed = at_;
    at_ = end_of_cell();
    const std::string_view text = trim({begin, at_});
    if (quoted && text.size() == static_cast<std::size_t>(closed - begin))
      return {text.substr(1, text.size() - 2), true};
    return {text, false};
  }

  // A doubled quote stands for one and does not close the cell.
  void skip_quotes(char quote) {
    do {
      at_ = std::find(at_ + 1, end_, quote);
      if (at_ == end_) throw DataError("a quote is opened and never closed; close or remove it");
      ++at_;
    } while (at_ != end_ && *at_ == quote);
  }

  const char* at_;
  const char* const end_;
  const char delimiter_;
  const std::string_view quotes_;
};

bool is_value(const Cell& cell, char decimal) {
  Value value;
  interpret(cell.text, decimal, value);
  return value.kind != Value::Kind::text || form_of(cell.text).has_value();
}

/// A comma between cells is none of a number, unless it is in quotes.
bool may_have_comma(const Cell& cell, char delimiter) { return delimiter != ',' || cell.quoted; }

std::size_t count_values(const Cells& cells, char delimiter, char decimal) {
  return static_cast<std::size_t>(std::ranges::count_if(cells, [&](const Cell& cell) {
    return is_value(cell, decimal == ',' && may_have_comma(cell, delimiter) ? ',' : '.');
  }));
}

/// With another delimiter a quote may open a cell or not.
bool can_split(std::string_view line, char delimiter, Cells& cells) {
  try {
    split(line, delimiter, cells);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

bool is_whole(std::string_view text, std::uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

/// Whole numbers that follow each other: 0, 1, 2, …, or at least three of them, as years do.
bool are_counted(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t k = 1; k < numbers.size(); ++k)
    if (numbers[k] != numbers[k - 1] + 1) return false;
  return numbers.empty() || numbers.front() == 0 || numbers.size() >= 3;
}

}  // namespace

void split(std::string_view line, char delimiter, Cells& cells, std::string_view quotes) {
  Splitting(line, delimiter, quotes).run(cells);
}

std::size_t line_length(std::string_view text, char delimiter) {
  const std::size_t plain = std::min(text.find('\n'), text.size());
  if (text.substr(0, plain).find('"') == text.npos) return plain;
  const auto begins_cell = [&](char c) {
    return delimiter == 0 ? delimiters.find(c) != delimiters.npos
                          : c == delimiter || (delimiter == ' ' && is_blank(c));
  };
  bool inside = false;
  bool at_begin = true;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '\n' && !inside) return k;
    if (c == '"' && (inside || at_begin)) {
      const bool doubled = inside && k + 1 < text.size() && text[k + 1] == '"';
      if (doubled) ++k;
      inside = !inside || doubled;
      at_begin = false;
    } else if (!inside) {
      at_begin = begins_cell(c) || (at_begin && is_blank(c));
    }
  }
  return text.size();
}

void unquote(const Cell& cell, std::string& text) {
  text = cell.text;
  if (!cell.quoted) return;
  std::size_t to = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    text[to++] = text[k];
    if (text[k] == '"' && k + 1 < text.size() && text[k + 1] == '"') ++k;
  }
  text.resize(to);
}

std::string name_of(const Cell& cell) {
  std::string name;
  unquote(cell, name);
  return name;
}

bool is_value(const Cell& cell) { return is_value(cell, '.') || is_value(cell, ','); }

bool is_number(const Cell& cell) {
  Value value;
  interpret(cell.text, '.', value);
  if (value.kind == Value::Kind::text) interpret(cell.text, ',', value);
  return value.kind == Value::Kind::number || value.kind == Value::Kind::too_large;
}

char header_delimiter(std::string_view line) {
  std::size_t most = 0;
  char best = 0;
  for (const char candidate : delimiters) {
    if (candidate == ' ') break;
    bool inside = false;
    std::size_t count = 0;
    for (const char c : line) {
      if (c == '"') inside = !inside;
      if (c == candidate && !inside) ++count;
    }
    if (count > most) {
      most = count;
      best = candidate;
    }
  }
  if (best != 0) return best;
  Cells cells;
  split(line, ' ', cells);
  return cells.size() > 1 ? ' ' : '\0';
}

Guess data_delimiter(std::string_view line, std::size_t columns) {
  struct Score {
    bool fits;
    double share;
    bool hard;  // it stands between fields, and is not a blank
    std::size_t fields;
    auto operator<=>(const Score&) const = default;
  };
  Cells cells;
  Guess best;
  Score highest{};
  for (const char candidate : delimiters) {
    if (!can_split(line, candidate, cells)) continue;
    if (cells.size() == 1 && candidate != ' ') continue;
    const std::size_t values =
        std::max(count_values(cells, candidate, '.'), count_values(cells, candidate, ','));
    const Score score{.fits = cells.size() == columns,
                      .share = static_cast<double>(values) / static_cast<double>(cells.size()),
                      .hard = candidate != ' ',
                      .fields = cells.size()};
    if (best.delimiter != 0 && score <= highest) continue;
    highest = score;
    best = {.delimiter = candidate, .share = score.share};
  }
  if (highest.fields == 1) best.delimiter = 0;
  // As a whole it may be one value: "1,5" is two numbers, but "31 Jan 2024" one time.
  if (highest.share < 1 && columns <= 1 && can_split(line, 0, cells) && is_value(cells.front()))
    best = {.delimiter = 0, .share = 1};
  return best;
}

bool may_be_row(const Guess& guess) { return guess.delimiter != ' ' || guess.share >= 0.5; }

bool are_names(const Cells& cells) {
  bool has_text = false;
  std::size_t times = 0;
  std::vector<std::uint64_t> numbers;
  for (const Cell& cell : cells) {
    std::uint64_t whole = 0;
    if (is_whole(cell.text, whole))
      numbers.push_back(whole);
    else if (is_number(cell))
      return false;
    else if (form_of(cell.text))
      ++times;
    else if (!is_value(cell))
      has_text = true;
  }
  // As pandas writes a table that has no names: ",0,1,2".
  const bool places = cells.size() > 1 && cells.front().text.empty() &&
                      numbers.size() + 1 == cells.size() && numbers.front() == 0;
  return (has_text || places) && (times == 0 || times > 2) && are_counted(numbers);
}

std::vector<std::string> distinct_names(const Cells& cells) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const Cell& cell : cells) taken.insert(names.emplace_back(name_of(cell)));
  std::unordered_map<std::string, std::size_t> times;
  for (std::string& name : names) {
    if (name.empty()) continue;
    std::size_t& n = times[name];
    if (++n == 1) continue;
    const std::string base = name;
    while (!taken.insert(name = base + '.' + std::to_string(n)).second) ++n;
  }
  return names;
}

}  // namespace kalstream::delimited
