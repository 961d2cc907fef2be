// Forecasts of the samples to come, with bounds: every lead learns in its own right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kalstream/interval.h"
#include "kalstream/learner.h"

namespace kalstream {

/// What comes next, 1 … horizon samples ahead, of a learner that goes along with its stream:
///
///     Forecaster forecaster(*learner, 24, 0.9);
///     …
///     learner->learn(x, d);                           // or advance(x) where the target is missing
///     forecaster.learn(*learner, d);                  // or with {} for d
///     forecaster.forecast(*learner, future_inputs);   // values(), bounds()
///
/// A lead is learnt from when its target comes, never before: what is said of sample t + k rests on
/// targets up to t. Forecasts of `auto` are blended for every lead anew, out of what its experts
/// say step by step, direct forecasts of that lead, and seasons repeated (docs/forecasting.md);
/// those of other learners are their own, step by step. Once constructed nothing allocates, throws
/// or prints.
class Forecaster {
 public:
  static constexpr std::size_t longest_horizon = 1000;

  /// `coverage` is that of the bounds, 0: none; `inner` those of narrower bounds within them, in
  /// ascending order. Throws std::invalid_argument if one of these or the horizon is out of range.
  Forecaster(const Learner& learner, std::size_t horizon, double coverage = 0,
             std::span<const double> inner = {});
  Forecaster(const Forecaster& other);
  Forecaster(Forecaster&& other) noexcept;
  Forecaster& operator=(Forecaster other) noexcept;
  ~Forecaster();

  std::size_t horizon() const;
  std::size_t outputs() const;

  /// The learner has just taken a sample, with target d; empty (or NaN): it is missing.
  void learn(const Learner& learner, std::span<const double> d);

  /// Forecasts after the last sample learnt, whose inputs are the rows of `inputs`. The first
  /// `passed` of them have come already and only wait for their targets: leads are counted from
  /// behind them. As many leads as there are rows; all, if the learner has no inputs. Returns how
  /// many there are: fewer if an input cannot be used.
  std::size_t forecast(Learner& learner, std::span<const double> inputs, std::size_t passed = 0);

  /// Of the last forecast: leads × outputs. Views live until the next call.
  std::span<const double> values() const;
  /// The same; empty without coverage.
  std::span<const Interval> bounds() const;
  /// The narrower ones: leads × inner coverages × outputs.
  std::span<const Interval> inner_bounds() const;

  void reset();
  /// All that has been learnt, to or from a snapshot; from one only after construction.
  void exchange(Archive& archive);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kalstream
