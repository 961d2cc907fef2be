// Running means and deviations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// Mean of the values of a stream so far, and the sum of their squared distances from it. The
/// caller counts the values: several streams may share one count.
struct Welford {
  double mean = 0;
  double sum_sq = 0;

  /// The standard deviation of `count` values; 1 until there is a spread to speak of.
  double deviation(double count) const {
    const double s = count < 2 ? 0 : std::sqrt(sum_sq / count);
    return s > 1e-12 * std::abs(mean) && s > 0 ? s : 1;
  }
  /// The moments of `count` values, of which `value` is the last (Welford's recursion). A value
  /// more than `reach` deviations from the mean counts as lying there. Beyond `horizon` values the
  /// older ones fade.
  Welford with(double count, double value, double reach, double horizon) const {
    if (count >= 3 && sum_sq > 0) {
      const double edge = reach * deviation(count);
      value = std::clamp(value, mean - edge, mean + edge);
    }
    const double n = std::min(count, horizon);
    const double before = value - mean;
    if (count <= horizon) return {mean + before / n, sum_sq + before * before * (1 - 1 / n)};
    // count times the variance (1 − 1/n)(variance before + before²/n)
    return {mean + before / n, count * (1 - 1 / n) * (sum_sq / (count - 1) + before * before / n)};
  }
  /// (value − mean)/deviation, within ±reach.
  double standardised(double count, double value, double reach) const {
    return std::clamp((value - mean) / deviation(count), -reach, reach);
  }
};

/// Mean and spread of a stream of vectors, by Welford's recursion. A value far outside what came
/// before counts as the edge of it: one wild sample must not set the scale for all that follow,
/// while a real change of level widens the spread soon. Older samples than the last 100,000 fade:
/// after a year, too, moments follow within days.
class RunningMoments {
 public:
  static constexpr double reach = 10;         // deviations
  static constexpr double horizon = 100'000;  // samples

  explicit RunningMoments(std::size_t n) : mean_(n, 0.0), sum_sq_(n, 0.0) {}

  void add(std::span<const double> v) {
    ++count_;
    for (std::size_t k = 0; k < v.size(); ++k) {
      const Welford now = of(k).with(static_cast<double>(count_), v[k], reach, horizon);
      mean_[k] = now.mean;
      sum_sq_[k] = now.sum_sq;
    }
  }

  std::uint64_t count() const { return count_; }

  /// (v − mean)/deviation, held within the reach.
  double standardised(std::size_t k, double v) const {
    return of(k).standardised(static_cast<double>(count_), v, reach);
  }

  double mean(std::size_t k) const { return mean_[k]; }

  /// No value was different from the others.
  bool is_constant(std::size_t k) const { return !(sum_sq_[k] > 0); }

  /// 1 until there is a spread to speak of.
  double deviation(std::size_t k) const { return of(k).deviation(static_cast<double>(count_)); }

  void reset() {
    count_ = 0;
    std::fill(mean_.begin(), mean_.end(), 0.0);
    std::fill(sum_sq_.begin(), sum_sq_.end(), 0.0);
  }

  void exchange(Archive& archive) {
    archive.count(count_);
    archive.numbers(mean_);
    archive.numbers(sum_sq_, Archive::not_negative);
  }

 private:
  Welford of(std::size_t k) const { return {mean_[k], sum_sq_[k]}; }

  std::uint64_t count_ = 0;
  std::vector<double> mean_;
  std::vector<double> sum_sq_;
};

}  // namespace kalstream
