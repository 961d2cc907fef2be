// One step of recursive least squares for few weights, with noise of variance 1:
//
//     g = Ph,  S = hᵀg + 1;   w ← w + g e/S,  P ← P − ggᵀ/S
//
// The caller moves the weights w, by rules of its own. Three more places have these equations, each
// with roundings that its predictions depend on: BlockKalman for networks and linear models, the
// kernels rls_* for eight models at a time, and Blend, with vectors and forgetting.
#pragma once

#include <cstddef>
#include <span>

namespace kalstream {

/// g ← Ph for P of n × n. Returns S.
inline double gain(std::span<const double> P, std::span<const double> h, std::span<double> g) {
  double S = 1;
  for (std::size_t i = 0; i < h.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < h.size(); ++j) sum += P[i * h.size() + j] * h[j];
    g[i] = sum;
    S += h[i] * sum;
  }
  return S;
}

/// P ← P − ggᵀ/S.
inline void downdate(std::span<double> P, std::span<const double> g, double S) {
  for (std::size_t i = 0; i < g.size(); ++i)
    for (std::size_t j = 0; j < g.size(); ++j) P[i * g.size() + j] -= g[i] * g[j] / S;
}

}  // namespace kalstream
