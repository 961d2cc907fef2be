// The range of targets that the guarantee of `auto` speaks of.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// The targets seen so far, and a tenth of their range more on either side.
class TargetRange {
 public:
  explicit TargetRange(std::size_t outputs) : low_(outputs), high_(outputs) {}

  double lowest(std::size_t k) const { return low_[k]; }
  double highest(std::size_t k) const { return high_[k]; }
  double low(std::size_t k) const { return low_[k] - margin * (high_[k] - low_[k]); }
  double high(std::size_t k) const { return high_[k] + margin * (high_[k] - low_[k]); }

  /// The first target.
  void begin(std::span<const double> d) {
    std::copy(d.begin(), d.end(), low_.begin());
    std::copy(d.begin(), d.end(), high_.begin());
  }

  /// Another, which is believed (Belief).
  void add(std::span<const double> d) {
    for (std::size_t k = 0; k < d.size(); ++k) {
      low_[k] = std::min(low_[k], d[k]);
      high_[k] = std::max(high_[k], d[k]);
    }
  }

  void reset() {
    for (auto* v : {&low_, &high_}) std::fill(v->begin(), v->end(), 0.0);
  }

  void exchange(Archive& archive) {
    for (auto* v : {&low_, &high_}) archive.numbers(*v, Archive::usable);
    for (std::size_t k = 0; k < low_.size(); ++k) archive.require(low_[k] <= high_[k]);
  }

 private:
  static constexpr double margin = 0.1;

  std::vector<double> low_;
  std::vector<double> high_;
};

}  // namespace kalstream
