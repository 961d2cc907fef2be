// What every generator makes, and what they make it from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "data/generators.h"

namespace kalstream::generator {

// The spec of a stream, NAME?key=value&…: what a key may be, and the values of a spec.

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

// Streams.

/// next(x) fills the inputs of one more row and returns its target.
struct Stream {
  std::vector<std::string> input_names;
  std::string target_name;
  std::function<double(std::span<double>)> next;
};

struct Generator {
  GeneratorInfo info;
  Stream (*stream)(const Settings&);
};

/// Maps centre ± half_range to ±0.8 and clips beyond.
double target_of(double value, double centre, double half_range);

/// base1, base2, …
std::vector<std::string> numbered(const std::string& base, std::size_t count);
void append_numbered(std::vector<std::string>& names, const std::string& base, std::size_t count);

// The families; each file explains its streams.

Generator addition();  // functions.cc
Generator friedman();
Generator narma10();

Generator kin_like();  // arms.cc
Generator puma_like();

Generator mackey_glass();  // series.cc
Generator lorenz();
Generator sine();

}  // namespace kalstream::generator
