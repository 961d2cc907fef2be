// Numbers about numbers. NaN entries mean "not there" and are left out.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kalstream {

double mean(std::span<const double> values);

/// Linear interpolation between order statistics, p in [0, 1]; +∞ is a value like any other.
/// NaN if there are no values.
double quantile(std::span<const double> values, double p);

inline double median(std::span<const double> values) { return quantile(values, 0.5); }

/// Population variance.
double variance(std::span<const double> values);

/// For each step the p-quantile over the rows (runs), which may differ in length.
std::vector<double> quantile_over_runs(const std::vector<std::span<const double>>& runs, double p);

/// Mean over the last `window` entries up to and including each.
std::vector<double> moving_average(std::span<const double> values, std::size_t window);

/// Mean over outputs of the variance of the targets (rows × n_d) in those of the first rows for
/// which counts(t).
double variance_of_targets(std::span<const double> targets, std::size_t n_d, std::size_t rows,
                           const auto& counts) {
  double total = 0;
  std::vector<double> column;
  for (std::size_t k = 0; k < n_d; ++k) {
    column.clear();
    for (std::size_t t = 0; t < rows; ++t)
      if (counts(t)) column.push_back(targets[t * n_d + k]);
    total += variance(column);
  }
  return total / static_cast<double>(n_d);
}

}  // namespace kalstream
