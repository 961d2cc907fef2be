// The third part of Intervals: what corrects the distribution.
#pragma once

#include <algorithm>
#include <cmath>

#include "calibration/interval_scores.h"
#include "core/archive.h"

namespace kalstream {

/// The part p of scores to leave outside of a bound so that targets are missed as often as they
/// should, α:
///
///   logit p = logit α + sinh(κu/g)/κ,   u ← u + η(α − [missed]),   g = 1 + late/τ
///
/// gentle near α, firm far away; and the gentler the more others are learnt between bounds and
/// their own target: what they missed has to show before more is done about it.
class CoverageLevel {
 public:
  explicit CoverageLevel(double alpha) : alpha_(alpha), logit_(std::log(alpha / (1 - alpha))) {}

  double operator()(double late) const {
    const double u = u_ / gentleness(late);
    const double a = std::max(logit_ + std::sinh(firmness * u) / firmness, least_a);
    return 1 / (1 + std::exp(-std::min(a, largest_a)));
  }

  void learn(bool missed, double late) {
    u_ = std::min(u_ + rate * (alpha_ - (missed ? 1 : 0)), u_at(largest_a) * gentleness(late));
  }

  /// Σ([missed] − α) is the fall of u/η at most. Below g·u*, where the tail alone is 2b, a bound
  /// holds every score up to b, since no other was below −b. So u cannot fall further but by the
  /// misses of bounds made before.
  double excess(double b, double late) const {
    const double p =
        std::pow(1 + 2 * ScoreWindow::tail * b, -1 / ScoreWindow::tail) / (ScoreWindow::window + 1);
    const double g = gentleness(late);
    const double least = u_at(std::log(p / (1 - p)));
    return (u_at(largest_a) * g - std::min(least * g, least)) / rate + late + 1;
  }

  void reset() { u_ = 0; }
  void exchange(Archive& archive) { archive.number(u_); }

 private:
  static constexpr double rate = 0.03;     // η
  static constexpr double firmness = 8;    // κ
  static constexpr double patience = 20;   // τ
  static constexpr double least_a = -600;  // exp of which is still a number
  static constexpr double largest_a = 4;   // by then the bounds have met

  static double gentleness(double late) { return 1 + late / patience; }
  double u_at(double a) const { return std::asinh(firmness * (a - logit_)) / firmness; }

  double alpha_;
  double logit_;
  double u_ = 0;
};

}  // namespace kalstream
