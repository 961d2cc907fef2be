// Where targets have been, which limits the bounds of those to come.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/archive.h"
#include "kalstream/interval.h"

namespace kalstream {

/// Bounds are held so near to the targets so far, and where these can be: not below 0 where no
/// target was, and whole numbers where all targets were. (Bounds with fractions hold the same whole
/// numbers as those between.)
class SeenTargets {
 public:
  static constexpr std::uint64_t first = 10;  ///< targets before bounds are held

  /// `reach`: how far beyond them, in their range, bounds may be.
  explicit SeenTargets(double reach) : reach_(reach) {}

  void add(double d) {
    low_ = count_ == 0 ? d : std::min(low_, d);
    high_ = count_ == 0 ? d : std::max(high_, d);
    whole_ = whole_ && d == std::floor(d);
    ++count_;
  }

  /// Bounds that are known, low ≤ high, and stay so.
  void hold(Interval& bounds) const {
    if (count_ < first) return;
    const double most = reach_ * (high_ - low_);
    const double least = low_ >= 0 ? std::max(low_ - most, 0.0) : low_ - most;
    bounds.low = std::clamp(bounds.low, least, high_ + most);
    bounds.high = std::clamp(bounds.high, least, high_ + most);
    if (!whole_) return;
    const double middle = std::round(std::midpoint(bounds.low, bounds.high));
    bounds.low = std::min(std::ceil(bounds.low), middle);
    bounds.high = std::max(std::floor(bounds.high), middle);
  }

  void reset() { *this = SeenTargets(reach_); }

  void exchange(Archive& archive) {
    archive.count(count_);
    archive.number(low_, Archive::usable);
    archive.number(high_, Archive::usable);
    archive.flag(whole_);
    archive.require(low_ <= high_);
  }

 private:
  double reach_;
  std::uint64_t count_ = 0;
  double low_ = 0;
  double high_ = 0;
  bool whole_ = true;
};

}  // namespace kalstream
