// The spec of a generated stream, NAME?key=value&…: what a key may be, and the values of a spec.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "data/generators.h"

namespace kalstream::generator {

/// Throws std::invalid_argument.
[[noreturn]] void fail(const std::string& message);

/// "a, b, c" of what `text` makes of the items.
template <class Items, class Text>
std::string listed(const Items& items, Text text, const char* separator = ", ") {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : separator) + std::string(text(item));
  return list;
}

/// A key whose value is one of the words.
GeneratorParameter choice(std::vector<std::string> words, std::string key, std::string fallback,
                          std::string meaning);

struct Range {
  double low;
  double high;
};

/// A key whose value is a number within the range, or an integer.
GeneratorParameter real(Range range, std::string key, double fallback, std::string meaning);
GeneratorParameter whole(Range range, std::string key, double fallback, std::string meaning);

/// A spec's values, checked and complete.
class Settings {
 public:
  /// `query`: what follows the question mark.
  Settings(const GeneratorInfo& info, std::string_view query);

  const std::string& word(const char* key) const { return values_.at(key); }
  bool is(const char* key, const char* value) const { return word(key) == value; }
  double number(const char* key) const;
  std::size_t count(const char* key) const { return static_cast<std::size_t>(number(key)); }
  Rng rng() const { return Rng(static_cast<std::uint64_t>(number("seed"))); }

 private:
  void set(const GeneratorInfo& info, std::string_view pair);

  std::map<std::string, std::string> values_;
};

}  // namespace kalstream::generator
