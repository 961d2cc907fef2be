#include "engine/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kalstream {

void Scores::add(std::span<const double> d_hat, std::span<const Interval> interval,
                 std::span<const double> d) {
  constexpr double recent = 1000;  // samples
  if (classes_) {
    classes_->add(d_hat, class_in(d));
    return;
  }
  errors_.add(d_hat, d);
  for (std::size_t k = 0; k < interval.size(); ++k) {
    if (std::isnan(interval[k].low)) continue;
    const bool held = interval[k].holds(d[k]);
    ++intervals_;
    held_ += held ? 1 : 0;
    const double share = std::max(1 / recent, 1 / static_cast<double>(intervals_));
    recent_ += share * ((held ? 1 : 0) - recent_);
  }
}

double Scores::coverage() const {
  return intervals_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : static_cast<double>(held_) / static_cast<double>(intervals_);
}

void Scores::exchange(Archive& archive) {
  errors_.exchange(archive);
  archive.count(intervals_);
  archive.count(held_, intervals_);
  archive.number(recent_, Archive::fraction);
  if (classes_) classes_->exchange(archive);
}

void Counts::exchange(Archive& archive) {
  for (std::uint64_t* n : {&records, &refused, &samples, &learnt, &missing, &late, &gated,
                           &rejected, &held, &anomalies, &untimely, &repeated, &passed})
    archive.count(*n);
}

}  // namespace kalstream
