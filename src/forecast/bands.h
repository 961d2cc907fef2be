// Bounds around forecasts of all leads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "calibration/interval_scores.h"
#include "calibration/interval_size.h"
#include "calibration/seen_targets.h"
#include "kalstream/interval.h"

namespace kalstream {

class Archive;

/// Bounds around the forecasts of one output, 1 … H samples ahead, for one coverage or several. For
/// each lead k, with α = (1 − coverage)/2, σ the error size that is expected (ErrorSize) and Q the
/// quantiles of the scores e/σ so far (ScoreWindow):
///
///     A_k = σ Q(α) on either side, at least 0, smoothed over the leads k ± k/5
///     bound = d̂ ± (A_k + σ sinh(κu)/κ),  u = v/(n + ν)
///     v ← max(v + η([missed] − α), −(n + ν))
///
/// Errors of forecasts that overlap are alike: n = 1 + the number of targets that were learnt
/// between a forecast and its own target, and n errors count as one wherever something is learnt
/// from them. Bounds are at most the range of all targets away from these; not below 0 where no
/// target was; and whole numbers where all targets were. Those of wider coverages contain the
/// others.
class ForecastBands {
 public:
  /// Coverages ascend.
  ForecastBands(std::size_t horizon, std::vector<double> coverages);

  /// The target of the next sample; NaN: it is missing.
  void learn(double d);
  /// Bounds of forecasts of the next leads, made `passed` samples after the last one learnt. The
  /// view, leads × coverages, lives until the next call.
  std::span<const Interval> around(std::span<const double> d_hat, std::size_t passed = 0);

  /// The guarantee: of any T targets of one lead learnt in a row, at most (1 − coverage)T + this
  /// many are outside of their bounds, if no more than `late` others are learnt between any bounds
  /// and their own target, no error exceeds b times the size that was expected, and no target is
  /// further from all learnt before than their range, or the first below 0, or the first that is
  /// not whole.
  static double excess(double b, std::uint64_t late);

  void reset();
  void exchange(Archive& archive);

 private:
  /// What is known of one lead.
  struct Lead {
    ErrorSize size;
    ScoreWindow scores;
    std::vector<double> v;  // of the lower and upper bound of each coverage
    double late = 0;        // targets learnt between a forecast and its own, lately at most
  };
  /// Forecasts made after one sample, until all their targets are known.
  struct Waiting {
    std::uint64_t after = 0;
    std::size_t leads = 0;
    std::vector<Interval> bounds;  // leads × coverages; the first of each lead has the origin
  };

  double alpha(std::size_t level) const { return (1 - coverages_[level]) / 2; }
  void learn_lead(Lead& lead, const Waiting& from, std::size_t k, double d);
  void smooth(std::span<double> distances) const;

  std::vector<double> coverages_;
  std::vector<Lead> leads_;
  std::vector<Waiting> waiting_;
  SeenTargets targets_{1};
  std::uint64_t samples_ = 0;
  std::vector<Interval> bounds_;
  std::vector<double> distances_;  // A, of the last forecast: sides × coverages × leads
  mutable std::vector<double> sums_;
};

}  // namespace kalstream
