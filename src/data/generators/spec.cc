#include "data/generators/spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

namespace kalstream::generator {
namespace {

// The shortest text that reads back as v.
std::string text_of(double v) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), end};
}

double number_of(std::string_view text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() ? v : std::nan("");
}

bool permits(const GeneratorParameter& p, const std::string& value) {
  if (!p.words.empty()) return std::find(p.words.begin(), p.words.end(), value) != p.words.end();
  const double v = number_of(value);
  return v >= p.low && v <= p.high && (!p.whole || v == std::floor(v));
}

}  // namespace

void fail(const std::string& message) { throw std::invalid_argument(message); }

GeneratorParameter choice(std::vector<std::string> words, std::string key, std::string fallback,
                          std::string meaning) {
  return {.key = std::move(key),
          .fallback = std::move(fallback),
          .meaning = std::move(meaning),
          .words = std::move(words)};
}

GeneratorParameter real(Range range, std::string key, double fallback, std::string meaning) {
  return {.key = std::move(key),
          .fallback = text_of(fallback),
          .meaning = std::move(meaning),
          .low = range.low,
          .high = range.high};
}

GeneratorParameter whole(Range range, std::string key, double fallback, std::string meaning) {
  GeneratorParameter p = real(range, std::move(key), fallback, std::move(meaning));
  p.whole = true;
  return p;
}

Settings::Settings(const GeneratorInfo& info, std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    set(info, pair);
  }
  for (const auto& p : info.parameters) values_.emplace(p.key, p.fallback);
}

double Settings::number(const char* key) const { return number_of(word(key)); }

void Settings::set(const GeneratorInfo& info, std::string_view pair) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  const std::string key(pair.substr(0, equals));
  const std::string value(pair.substr(std::min(equals + 1, pair.size())));
  const auto p = std::find_if(info.parameters.begin(), info.parameters.end(),
                              [&](const auto& candidate) { return candidate.key == key; });
  if (p == info.parameters.end()) {
    fail("generator " + info.name + " has no key '" + key + "'; its keys are " +
         listed(info.parameters, [](const auto& known) { return known.key; }));
  }
  if (!permits(*p, value)) {
    fail("generator " + info.name + ": " + key + "='" + value + "' is not " + p->permitted());
  }
  if (!values_.emplace(key, value).second) {
    fail("generator " + info.name + ": key '" + key + "' is given twice");
  }
}

}  // namespace kalstream::generator

namespace kalstream {

std::string GeneratorParameter::permitted() const {
  if (!words.empty()) return generator::listed(words, std::identity(), "|");
  return (whole ? "a whole number in " : "a number in ") + generator::text_of(low) + ".." +
         generator::text_of(high);
}

}  // namespace kalstream
