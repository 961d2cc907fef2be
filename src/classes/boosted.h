// Boosted trees over the samples in memory, one tree at a time.
#pragma once

#include <memory>

#include "classes/class_expert.h"

namespace kalstream {

/// A sum of small trees, fitted to the last `window` samples. Every few samples the oldest tree is
/// taken out and a new one fitted to what the others leave: a Newton step on the log loss of the
/// window. So the sum follows the stream, and no step is a long one.
struct BoostedPlan {
  std::size_t window = 2000;
  std::size_t trees = 32;
  std::size_t every = 16;  ///< samples between two trees, once the window is full
  double rate = 0.3;       ///< of the Newton step
  double prior = 1;        ///< added to the curvature in a leaf
  std::uint64_t seed = 1;
};

std::unique_ptr<ClassExpert> make_boosted(std::size_t inputs, std::size_t classes,
                                          const BoostedPlan& plan);

}  // namespace kalstream
