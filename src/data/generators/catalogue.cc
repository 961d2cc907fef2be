// All generators by name, the values of their parameters, and the rows they make.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/number_in.h"
#include "data/generators.h"
#include "data/generators/stream.h"
#include "lines/csv_field.h"

namespace kalstream {
namespace generator {
namespace {

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

/// "a, b, c" of what `text` makes of the items.
template <class Items, class Text>
std::string listed(const Items& items, Text text, const char* separator = ", ") {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : separator) + std::string(text(item));
  return list;
}

// The shortest text that reads back as v.
std::string text_of(double v) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), end};
}

bool permits(const GeneratorParameter& p, const std::string& value) {
  if (!p.words.empty()) return std::find(p.words.begin(), p.words.end(), value) != p.words.end();
  const double v = number_in<double>(value).value_or(NAN);
  return v >= p.low && v <= p.high && (!p.whole || v == std::floor(v));
}

}  // namespace

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

double Settings::number(const char* key) const { return *number_in<double>(word(key)); }

void Settings::set(const GeneratorInfo& info, std::string_view pair) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  const std::string key(pair.substr(0, equals));
  const std::string value(pair.substr(std::min(equals + 1, pair.size())));
  const auto p = std::ranges::find(info.parameters, key, &GeneratorParameter::key);
  if (p == info.parameters.end())
    fail("generator " + info.name + " has no key '" + key + "'; its keys are " +
         listed(info.parameters, [](const auto& known) { return known.key; }));
  if (!permits(*p, value))
    fail("generator " + info.name + ": " + key + "='" + value + "' is not " + p->permitted());
  if (!values_.emplace(key, value).second)
    fail("generator " + info.name + ": key '" + key + "' is given twice");
}

double target_of(double value, double centre, double half_range) {
  constexpr double limit = 0.8;
  const double d = limit * (value - centre) / half_range;
  return std::clamp(d, -limit, limit);
}

void append_numbered(std::vector<std::string>& names, const std::string& base, std::size_t count) {
  for (std::size_t i = 1; i <= count; ++i) names.push_back(base + std::to_string(i));
}

std::vector<std::string> numbered(const std::string& base, std::size_t count) {
  std::vector<std::string> names;
  append_numbered(names, base, count);
  return names;
}

namespace {

const std::vector<Generator>& catalogue() {
  static const std::vector<Generator> all = [] {
    std::vector<Generator> made = {addition(), kin_like(), puma_like(), mackey_glass(),
                                   narma10(),  lorenz(),   friedman(),  sine()};
    for (auto& generator : made)
      generator.info.parameters.push_back(
          whole({0, 1e15}, "seed", 1, "start of the random numbers"));
    return made;
  }();
  return all;
}

const Generator& find(std::string_view name) {
  for (const auto& generator : catalogue())
    if (generator.info.name == name) return generator;
  fail("unknown generator '" + std::string(name) + "'; the generators are " +
       listed(catalogue(), [](const auto& known) { return known.info.name; }));
}

}  // namespace
}  // namespace generator

std::string GeneratorParameter::permitted() const {
  if (!words.empty()) return generator::listed(words, std::identity(), "|");
  return (whole ? "a whole number in " : "a number in ") + generator::text_of(low) + ".." +
         generator::text_of(high);
}

std::vector<GeneratorInfo> generators() {
  std::vector<GeneratorInfo> all;
  for (const auto& one : generator::catalogue()) all.push_back(one.info);
  return all;
}

Dataset generate(std::string_view spec, std::size_t rows) {
  const std::size_t mark = std::min(spec.find('?'), spec.size());
  const auto& [info, make_stream] = generator::find(spec.substr(0, mark));
  const generator::Settings settings(info, spec.substr(std::min(mark + 1, spec.size())));
  const generator::Stream stream = make_stream(settings);

  Dataset data;
  data.name = info.name;
  data.source = "gen:" + std::string(spec);
  data.input_names = stream.input_names;
  data.target_names = {stream.target_name};
  data.inputs.resize(rows * data.n_inputs());
  data.targets.resize(rows);
  for (std::size_t row = 0; row < rows; ++row)
    data.targets[row] =
        stream.next(std::span(data.inputs).subspan(row * data.n_inputs(), data.n_inputs()));
  return data;
}

std::string csv_of(const Dataset& data) {
  std::string text;
  for (const auto* names : {&data.input_names, &data.target_names})
    for (const std::string& name : *names) text += csv_field(name) + ',';
  text.back() = '\n';
  for (std::size_t row = 0; row < data.rows(); ++row) {
    // A missing number is the word nan: a line with a single empty field would be blank.
    for (const auto& values : {data.x(row), data.d(row)})
      for (const double v : values) text += (std::isnan(v) ? "nan" : generator::text_of(v)) + ',';
    text.back() = '\n';
  }
  return text;
}

}  // namespace kalstream
