#include "eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kalstream {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// Sorts in place; NaN must be gone already.
double quantile_of(std::vector<double>& v, double p) {
  if (v.empty()) return none;
  std::sort(v.begin(), v.end());
  const double position = p * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double share = position - static_cast<double>(below);
  // Not v[below] + share·(difference): ∞ − ∞ must not arise.
  return share == 0 ? v[below] : (1 - share) * v[below] + share * v[below + 1];
}

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  std::size_t n = 0;
  for (double v : values)
    if (!std::isnan(v)) {
      sum += v;
      ++n;
    }
  return n == 0 ? none : sum / static_cast<double>(n);
}

double quantile(std::span<const double> values, double p) {
  std::vector<double> present;
  std::copy_if(values.begin(), values.end(), std::back_inserter(present),
               [](double v) { return !std::isnan(v); });
  return quantile_of(present, p);
}

double variance(std::span<const double> values) {
  const double m = mean(values);
  std::vector<double> squares;
  for (double v : values) squares.push_back((v - m) * (v - m));
  return mean(squares);
}

std::vector<double> quantile_over_runs(const std::vector<std::span<const double>>& runs, double p) {
  std::size_t steps = 0;
  for (const auto& run : runs) steps = std::max(steps, run.size());
  std::vector<double> result(steps);
  std::vector<double> at_step;
  for (std::size_t t = 0; t < steps; ++t) {
    at_step.clear();
    for (const auto& run : runs)
      if (t < run.size() && !std::isnan(run[t])) at_step.push_back(run[t]);
    result[t] = quantile_of(at_step, p);
  }
  return result;
}

std::vector<double> moving_average(std::span<const double> values, std::size_t window) {
  std::vector<double> result(values.size());
  double sum = 0;
  std::size_t n = 0;
  const auto count = [&](double v, double sign) {
    if (std::isnan(v)) return;
    sum += sign * v;
    sign > 0 ? ++n : --n;
  };
  for (std::size_t t = 0; t < values.size(); ++t) {
    count(values[t], 1);
    if (t >= window) count(values[t - window], -1);
    result[t] = n == 0 ? none : sum / static_cast<double>(n);
  }
  return result;
}

}  // namespace kalstream
