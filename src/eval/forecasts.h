// Forecasts of the rows after each row: their errors, and for those who want more, themselves.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "eval/timeline.h"
#include "kalstream/forecaster.h"
#include "kalstream/learner.h"

namespace kalstream {

/// Made after each row, of the steps that follow it: rows × horizon × outputs. NaN where there is
/// none: what should be known ahead of a step is not.
struct KeptForecasts {
  std::size_t horizon = 0;
  std::vector<double> value;
  std::vector<double> low, high;  ///< empty without intervals
};

/// How forecasts are made.
struct ForecastOptions {
  std::size_t horizon = 0;
  double coverage = 0;        ///< of bounds; 0: none
  bool keep = false;          ///< KeptForecasts
  bool hold_unknown = false;  ///< what should be known ahead but is not stays as it is
  /// For every input whether it is known ahead of its time, so that a forecast may see it; others
  /// stay at their last value. Empty: none is.
  std::vector<bool> known_ahead = {};
};

/// Makes them, row by row, and learns from their targets as these come.
class ForecastKeeper {
 public:
  ForecastKeeper(const Learner& learner, const Dataset& data, const Timeline& timeline,
                 std::size_t rows, const ForecastOptions& options);

  /// After the learner has gone a step without a row, or a row without forecasts.
  void pass(const Learner& learner) { forecaster_.learn(learner, {}); }
  /// After it has taken row t, whose target it was given if `learnt`.
  void add(Learner& learner, std::size_t t, bool learnt);

  /// Of what was said after row t, the last that was added, of the step `horizon` after it; NaN if
  /// nothing was, or no target came.
  double farthest_error(std::size_t t) const;

  const Forecaster& forecaster() const { return forecaster_; }

  /// The first rows of them.
  KeptForecasts take(std::size_t rows);

 private:
  std::size_t fill_inputs(std::size_t t);
  void keep(std::size_t t);

  const Dataset& data_;
  const Timeline& timeline_;
  ForecastOptions options_;
  Forecaster forecaster_;
  std::size_t leads_ = 0;       // of the last forecast
  std::vector<double> inputs_;  // horizon × inputs
  KeptForecasts kept_;
};

}  // namespace kalstream
