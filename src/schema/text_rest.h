// A short text, read from front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kalstream {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// What is left of a text. What does not find its piece leaves the text as it was.
class TextRest {
 public:
  explicit TextRest(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  char front() const { return text_.empty() ? '\0' : text_.front(); }

  bool take(char c) {
    if (front() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_one_of(std::string_view chars, char& c) {
    if (text_.empty() || chars.find(text_.front()) == chars.npos) return false;
    c = text_.front();
    text_.remove_prefix(1);
    return true;
  }
  bool take_blanks() {
    const std::size_t before = text_.size();
    while (front() == ' ' || front() == '\t') text_.remove_prefix(1);
    return text_.size() < before;
  }

  std::size_t digits() const {
    std::size_t n = 0;
    while (n < text_.size() && is_digit(text_[n])) ++n;
    return n;
  }
  /// The next `count` digits, whatever follows them.
  bool take_digits(std::size_t count, int& number) {
    if (digits() < count) return false;
    number = 0;
    for (std::size_t k = 0; k < count; ++k) number = 10 * number + (text_[k] - '0');
    text_.remove_prefix(count);
    return true;
  }
  /// A number of so many digits, all that there are.
  bool take_number(std::size_t least, std::size_t most, int& number) {
    const std::size_t count = digits();
    return count >= least && count <= most && take_digits(count, number);
  }

  /// The next letters, if they are this word or its first three: January, Jan.
  bool take_word(std::string_view word, std::size_t shortest) {
    std::size_t n = 0;
    while (n < text_.size() && is_letter(text_[n])) ++n;
    if (n != word.size() && n != shortest) return false;
    for (std::size_t k = 0; k < n; ++k)
      if ((text_[k] | 0x20) != (word[k] | 0x20)) return false;
    text_.remove_prefix(n);
    return true;
  }
  bool take_word(std::string_view word) { return take_word(word, word.size()); }

  /// What stands behind a decimal sign, in units of 1 / `one`; what is finer is cut off.
  bool take_fraction(std::int64_t one, std::int64_t& fraction) {
    const std::size_t count = digits();
    if (count == 0) return false;
    std::int64_t unit = one;
    for (std::size_t k = 0; k < count; ++k) fraction += (unit /= 10) * (text_[k] - '0');
    text_.remove_prefix(count);
    return true;
  }

 private:
  std::string_view text_;
};

}  // namespace kalstream
