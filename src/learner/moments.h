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

/// Mean and spread of a stream of vectors, by Welford's recursion. A value far outside what came
/// before counts as the edge of it: one wild sample must not set the scale for all that follow,
/// while a real change of level widens the spread soon. Older samples than the last 100,000 fade:
/// after a year, too, moments follow within days.
class RunningMoments {
 public:
  static constexpr double reach = 10;                // deviations
  static constexpr std::uint64_t horizon = 100'000;  // samples

  explicit RunningMoments(std::size_t n) : mean_(n, 0.0), sum_sq_(n, 0.0) {}

  void add(std::span<const double> v) {
    ++count_;
    const auto count = static_cast<double>(count_);
    const double n = std::min(count, static_cast<double>(horizon));
    for (std::size_t k = 0; k < v.size(); ++k) {
      const double before = within(k, v[k]) - mean_[k];
      mean_[k] += before / n;
      if (count_ <= horizon)
        sum_sq_[k] += before * before * (1 - 1 / n);
      else  // count times the variance (1 − 1/n)(variance before + before²/n)
        sum_sq_[k] = count * (1 - 1 / n) * (sum_sq_[k] / (count - 1) + before * before / n);
    }
  }

  std::uint64_t count() const { return count_; }

  /// (v − mean)/deviation, held within the reach.
  double standardised(std::size_t k, double v) const {
    return std::clamp((v - mean_[k]) / deviation(k), -reach, reach);
  }

  double mean(std::size_t k) const { return mean_[k]; }

  /// No value was different from the others.
  bool is_constant(std::size_t k) const { return !(sum_sq_[k] > 0); }

  /// 1 until there is a spread to speak of.
  double deviation(std::size_t k) const {
    const double s = count_ < 2 ? 0 : std::sqrt(sum_sq_[k] / static_cast<double>(count_));
    return s > 1e-12 * std::abs(mean_[k]) && s > 0 ? s : 1;
  }

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
  // v, held within the reach once there are deviations.
  double within(std::size_t k, double v) const {
    if (count_ < 3 || !(sum_sq_[k] > 0)) return v;
    return std::clamp(v, mean_[k] - reach * deviation(k), mean_[k] + reach * deviation(k));
  }

  std::uint64_t count_ = 0;
  std::vector<double> mean_;
  std::vector<double> sum_sq_;
};

}  // namespace kalstream
