// What the networks of `auto` see of many inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "auto/experts.h"

namespace kalstream {

class Archive;
class SampleMemory;
class Scale;

/// The cost of a network grows with the square of its weights, so of a wide stream's inputs
/// networks see a few: those that tell most of the targets, each by itself. Where all of them tell
/// a little, a linear model of all inputs gathers it: networks see what that says, too.
///
/// How much input k tells, in the samples in memory, is r² of x_k and r² of (x_k − x̄_k)² with a
/// target, added up; over several targets the largest counts.
class TellingInputs {
 public:
  explicit TellingInputs(const Sight& sight);

  /// Of standardised inputs x, the chosen ones and what the linear model says.
  void see(std::span<const double> x, std::span<double> seen) const;
  /// Whether others are chosen now.
  bool choose(const SampleMemory& memory, const Scale& scale);
  /// Rows of 1 + n weights, one for each output; the first is that of 1.
  void follow_linear(std::span<const double> weights) {
    std::ranges::copy(weights, linear_.begin());
  }
  void reset();
  void exchange(Archive& archive);

 private:
  Sight sight_;
  std::vector<std::size_t> chosen_;  // in order; the first ones before there is a choice
  std::vector<double> linear_;
};

}  // namespace kalstream
