// What every generator makes, and what they make it from.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/generators/spec.h"

namespace kalstream::generator {

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

Generator addition();  // memory.cc
Generator narma10();

Generator kin_like();  // arms.cc
Generator puma_like();

Generator mackey_glass();  // series.cc
Generator lorenz();
Generator sine();

Generator friedman();  // friedman.cc

}  // namespace kalstream::generator
