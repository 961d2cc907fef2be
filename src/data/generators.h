// Endless streams to try a learner on, without any file.
//
// Every stream is causal: row t's inputs are known at time t, its target is a later or a derived
// value, and the first rows of a long run equal a short run. Inputs have about unit variance and
// targets lie within ±0.8, by constants fixed here and not by statistics of the rows. A seed means
// the same draws everywhere; sines may differ in their last bit between C libraries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/dataset.h"

namespace kalstream {

/// A key of a generator's spec: one of `words`, or a number within [low, high] if there are none.
struct GeneratorParameter {
  std::string key;
  std::string fallback;  ///< its value in a spec without the key
  std::string meaning;
  std::vector<std::string> words = {};
  double low = 0;
  double high = 0;
  bool whole = false;  ///< only integers

  std::string permitted() const;  ///< "f|n", "a whole number in 2..16"
};

struct GeneratorInfo {
  std::string name;
  std::string summary;
  std::vector<GeneratorParameter> parameters;
};

/// All generators, in the order a help text should list them.
std::vector<GeneratorInfo> generators();

/// The first rows of the stream NAME[?key=value&key=value…], e.g. "addition?n=4&seed=2". Throws
/// std::invalid_argument, naming what is known and permitted, for a spec it does not understand.
Dataset generate(std::string_view spec, std::size_t rows);

/// A header line, then one line per row: inputs, targets. Numbers are the shortest that read back
/// the same; a missing value is written as nan.
std::string csv_of(const Dataset& data);

}  // namespace kalstream
