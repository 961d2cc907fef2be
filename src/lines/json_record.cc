#include "lines/json_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "lines/json_text.h"
#include "schema/value.h"

namespace kalstream {
namespace {

constexpr std::size_t deepest = 32;
constexpr std::size_t most_fields = 100'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](int shift) { add(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add_rest(12);
    }
    add_rest(6);
  }
  add_rest(0);
}

}  // namespace

/// Reads a line from front to back and adds its fields as they come. By hand and not by a library:
/// a line should take a microsecond and no memory.
class JsonLines::Parsing {
 public:
  Parsing(std::string_view line, Record& record, std::string& path)
      : begin_(line.data()), at_(begin_), end_(begin_ + line.size()), record_(record), path_(path) {
    path_.clear();
  }

  void run() {
    skip_blanks();
    record_.is_row = next() == '[';
    record_.named = !record_.is_row;
    if (next() == '{')
      object(0);
    else if (next() == '[')
      list(0);
    else
      fail();
    skip_blanks();
    if (at_ != end_) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw DataError("invalid JSON at character " + std::to_string(at_ - begin_ + 1) +
                    "; write one object or array per line");
  }

  char next() const { return at_ == end_ ? '\0' : *at_; }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }

  void object(std::size_t depth) {
    const std::size_t base = path_.size();
    const std::size_t first = record_.fields().size();
    expect('{');
    skip_blanks();
    while (!take('}')) {
      path_.resize(base);
      if (depth > 0) path_ += '.';
      string(path_);
      skip_blanks();
      expect(':');
      value(depth);
      if (!take(',')) {
        expect('}');
        break;
      }
      skip_blanks();
      if (next() == '}') fail();
    }
    end_structure(depth, base, first);
  }

  /// A value is named by its place in the list.
  void list(std::size_t depth) {
    const std::size_t base = path_.size();
    const std::size_t first = record_.fields().size();
    std::size_t count = 0;
    expect('[');
    skip_blanks();
    while (!take(']')) {
      path_.resize(base);
      path_ += depth > 0 ? '.' : 'x';
      append_number(++count);
      value(depth);
      if (!take(',')) {
        expect(']');
        break;
      }
      skip_blanks();
      if (next() == ']') fail();
    }
    end_structure(depth, base, first);
    if (count == 1 && depth > 0)  // Only one has the list's own name: "a.1.b" becomes "a.b".
      for (Record::Field& f : record_.fields().subspan(first)) {
        if (f.name.size() > base) f.name.erase(base, 2);
        f.value.only_of_list = true;
      }
  }

  void append_number(std::size_t number) {
    std::array<char, 24> digits;
    path_.append(digits.data(),
                 std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }

  /// An empty structure is a missing value.
  void end_structure(std::size_t depth, std::size_t base, std::size_t first) {
    path_.resize(base);
    if (depth > 0 && record_.fields().size() == first) add();
  }

  void value(std::size_t depth) {
    skip_blanks();
    if (next() == '{' || next() == '[') {
      if (depth + 1 == deepest)
        throw DataError("the line is nested deeper than " + std::to_string(deepest) +
                        " levels; write what is needed further up");
      next() == '{' ? object(depth + 1) : list(depth + 1);
    } else if (next() == '"') {
      Value& v = add();
      v.quoted = true;
      string(v.text);
      interpret(v.text, '.', v);
    } else {
      const std::string_view word = plain_word();
      Value& v = add();
      interpret(word, '.', v);
      if (word != "null") v.text = word;
    }
    skip_blanks();
  }

  Value& add() {
    if (record_.fields().size() == most_fields)
      throw DataError("the line has more than " + std::to_string(most_fields) +
                      " fields; leave out what is not needed");
    return record_.add(path_);
  }

  /// A number, true, false or null; and NaN and Infinity, which are no JSON but what Python writes.
  std::string_view plain_word() {
    const char* const begin = at_;
    take('-');
    if (!is_digit(next())) return word_after(begin);
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
    return {begin, at_};
  }

  std::string_view word_after(const char* begin) {
    for (const std::string_view word : {"null", "true", "false", "NaN", "Infinity", "-Infinity"})
      if (std::string_view(begin, end_).starts_with(word)) {
        at_ = begin + word.size();
        return word;
      }
    fail();
  }

  void digits() {
    if (!is_digit(next())) fail();
    while (is_digit(next())) ++at_;
  }

  /// Appends what is between the quotes.
  void string(std::string& text) {
    expect('"');
    while (true) {
      const char* const begin = at_;
      while (at_ != end_ && is_plain(*at_)) ++at_;
      text.append(begin, at_);
      if (take('"')) return;
      if (take('\\')) {
        escape(text);
        continue;
      }
      if (static_cast<unsigned char>(next()) < 0x80) fail();  // a control character, or the end
      const Utf8Character character = utf8_character({at_, end_});
      if (!character.whole) fail();
      text.append(at_, character.bytes);
      at_ += character.bytes;
    }
  }

  static bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  }

  void escape(std::string& text) {
    constexpr std::string_view marks = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    if (take('u')) return escaped_code(text);
    const std::size_t which = at_ == end_ ? marks.npos : marks.find(*at_);
    if (which == marks.npos) fail();
    text += meant[which];
    ++at_;
  }

  /// \u00e9; what does not fit into four digits comes as a pair.
  void escaped_code(std::string& text) {
    std::uint32_t code = four_digits();
    if (code >= 0xdc00 && code < 0xe000) fail();
    if (code >= 0xd800 && code < 0xdc00) {
      expect('\\');
      expect('u');
      const std::uint32_t second = four_digits();
      if (second < 0xdc00 || second >= 0xe000) fail();
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    append_utf8(text, code);
  }

  std::uint32_t four_digits() {
    constexpr std::ptrdiff_t count = 4;
    std::uint32_t code = 0;
    if (end_ - at_ < count || std::from_chars(at_, at_ + count, code, 16).ptr != at_ + count)
      fail();
    at_ += count;
    return code;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  Record& record_;
  std::string& path_;
};

void JsonLines::read(std::string_view line, Record& record) {
  record.clear();
  Parsing(line, record, path_).run();
  require_distinct(record);
}

void JsonLines::require_distinct(const Record& record) {
  const auto fields = record.fields();
  if (std::ranges::equal(fields, last_names_, {}, &Record::Field::name)) return;
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
