// A linear model of the value exactly k steps ahead.
#pragma once

#include <span>
#include <vector>

#include "auto/series/features.h"
#include "core/cloned.h"
#include "kalstream/learner.h"

namespace kalstream {

/// Sees at time t, of the value at t + k, with c periods m back to the last known of its phase,
/// (c − 1)m < k ≤ cm; all in units of the target's deviation:
///
///     changes     y_{t−i} − y_{t−i−1}                                     i = 0 … 7
///     level       y_t − mean
///     per period  y_{t+k−cm} − y_t;   y_{t−cm} − y_t;
///                 the mean of the neighbours of y_{t+k−cm}, less y_t
///     its phase   sin 2πh(t + k)/m, cos 2πh(t + k)/m                      h = 1, 2, 3
///     inputs      those of the sample at t + k, standardised
///
/// and learns y_{t+k} − y_t by recursive least squares, with weights that may wander a little.
class DirectModel {
 public:
  DirectModel(std::size_t lead, std::size_t inputs);

  /// Of the value k after the last of the past, which must have one.
  double predict(const LongPast& past, const Periods& periods, const SeriesUnits& units,
                 std::span<const double> x);
  /// The last of the past is what predict would have been asked for k steps ago.
  void learn(const LongPast& past, const Periods& periods, const SeriesUnits& units,
             std::span<const double> x);

  void reset() { model_->reset(); }
  void exchange(Archive& archive) { model_->exchange(archive); }

 private:
  void see(const LongPast& past, std::size_t ago, const Periods& periods, const SeriesUnits& units,
           std::span<const double> x);

  std::size_t lead_;
  Cloned<Learner> model_;
  std::vector<double> seen_;
};

}  // namespace kalstream
