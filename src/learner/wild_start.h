// Whether one of the first two samples set the scale for all that followed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/archive.h"
#include "core/moments.h"

namespace kalstream {

/// Numbers, and what is wild beside them: further away than a thousand times their range.
class Others {
 public:
  void add(double v) {
    low_ = std::min(low_, v);
    high_ = std::max(high_, v);
  }
  /// Nothing, if they are all the same: then there is no range to measure by.
  bool make_wild(double v) const {
    return low_ < high_ && std::max(low_ - v, v - high_) > wild * (high_ - low_);
  }

 private:
  static constexpr double wild = 1000;

  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -low_;
};

/// RunningMoments hold every value within the reach of those before it, but for the first two:
/// there is nothing yet to hold them by. These are judged once, after the sixteenth: if one is wild
/// beside the other fourteen, the moments are taken anew with the mean of these in its place.
class WildStart {
 public:
  static constexpr std::size_t length = 16;
  static constexpr std::size_t judged = 2;

  explicit WildStart(std::size_t n) : n_(n), values_(length * n) {}

  /// One more sample, that `moments` know already. True if it is the last one and a value among the
  /// first two was wild; then `moments` are better ones.
  bool add(std::span<const double> v, RunningMoments& moments) {
    if (count_ == length) return false;
    std::copy(v.begin(), v.end(), row(count_).begin());
    return ++count_ == length && mend(moments);
  }

  void reset() { count_ = 0; }

  void exchange(Archive& archive) {
    archive.count(count_, length);
    if (count_ < length) archive.numbers(std::span(values_).first(count_ * n_), Archive::usable);
  }

 private:
  std::span<double> row(std::size_t t) { return std::span(values_).subspan(t * n_, n_); }

  bool mend(RunningMoments& moments) {
    bool any = false;
    for (std::size_t k = 0; k < n_; ++k) {
      Others others;
      double mean = 0;
      for (std::size_t t = judged; t < length; ++t) {
        others.add(row(t)[k]);
        mean += row(t)[k] / static_cast<double>(length - judged);
      }
      for (std::size_t t = 0; t < judged; ++t) {
        double& v = row(t)[k];
        if (!others.make_wild(v)) continue;
        v = mean;
        any = true;
      }
    }
    if (!any) return false;
    moments.reset();
    for (std::size_t t = 0; t < length; ++t) moments.add(row(t));
    return true;
  }

  std::size_t n_;
  std::size_t count_ = 0;
  std::vector<double> values_;  // length × n
};

}  // namespace kalstream
