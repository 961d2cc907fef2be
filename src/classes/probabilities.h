// Small things that are done to probabilities of classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace kalstream {

inline void normalise(std::span<double> p) {
  double sum = 0;
  for (const double v : p) sum += v;
  for (double& v : p) v /= sum;
}

/// Logarithms, up to a constant, become probabilities.
inline void softmax(std::span<double> z) {
  const double top = *std::max_element(z.begin(), z.end());
  for (double& v : z) v = std::exp(v - top);
  normalise(z);
}

/// Nothing is impossible: each class gets at least `least`/classes.
inline void keep_possible(std::span<double> p, double least) {
  const double share = least / static_cast<double>(p.size());
  for (double& v : p) v = (1 - least) * v + share;
}

}  // namespace kalstream
