// A learner with bounds around its predictions, the surprise of its targets, and forecasts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kalstream/forecaster.h"
#include "kalstream/interval.h"
#include "kalstream/learner.h"
#include "kalstream/surprise.h"

namespace kalstream {

class Archive;

/// What a CalibratedLearner tells besides its predictions.
struct CalibrationOptions {
  double coverage = 0;  ///< bounds hold this part of the targets, 0 < coverage < 1; 0: no bounds
  std::vector<double> inner = {};  ///< coverages of narrower bounds within them, ascending
  bool surprise = false;           ///< tell how improbable each target was
  std::size_t horizon = 0;         ///< forecast so many samples ahead; 0: no forecasts

  bool operator==(const CalibrationOptions&) const = default;
};

/// A learner together with its Intervals, its Surprise and its Forecaster, which have to be asked
/// and taught in the right order:
///
///     CalibratedLearner model(make_scaled_learner(options), {.coverage = 0.9, .horizon = 24});
///     CalibratedLearner::Prediction said;
///     …
///     model.predict(x, said);               // said.d_hat, said.bounds[0].low
///     model.learn(x, d, said);              // or advance(x) where the target is missing
///     model.forecast(future_inputs);        // forecaster()->values(), ->bounds()
///
/// A target may come late: keep the Prediction until then.
class CalibratedLearner {
 public:
  /// A prediction, and what has to be known of it when its target comes. Plain values.
  struct Prediction {
    std::vector<double> d_hat;
    std::vector<Interval> bounds;              ///< of each output; empty without coverage
    std::vector<Interval> inner;               ///< narrower ones: inner coverages × outputs
    std::vector<Surprise::Expected> expected;  ///< of each output; empty without surprise
    /// It is a forecast across samples whose targets had not come; such predictions are further
    /// off, and have bounds and a surprise of their own.
    bool across = false;
  };

  /// Throws std::invalid_argument if a number is out of range.
  CalibratedLearner(std::unique_ptr<Learner> learner, const CalibrationOptions& options = {});
  /// An independent copy, with all that was learnt.
  CalibratedLearner(const CalibratedLearner& other);
  CalibratedLearner(CalibratedLearner&&) noexcept = default;
  CalibratedLearner& operator=(CalibratedLearner&&) noexcept = default;
  CalibratedLearner& operator=(const CalibratedLearner&) = delete;
  ~CalibratedLearner() = default;

  Learner& learner() { return *learner_; }
  const Learner& learner() const { return *learner_; }
  const CalibrationOptions& calibration() const { return calibration_; }

  /// The prediction for input x. Has no effect on what later calls return.
  void predict(std::span<const double> x, Prediction& to);
  /// The same for the sample after those that Learner::forecast_next was last asked for.
  void predict_across(std::span<const double> x, Prediction& to);

  /// How improbable target d was, by all that is known now: Surprise::of. The view lives until the
  /// next call.
  std::span<const double> surprise_of(const Prediction& said, std::span<const double> d);

  /// Moves on to x and learns its target, which had been predicted as said. A sample that the
  /// learner rejects changes nothing.
  StepReport learn(std::span<const double> x, std::span<const double> d, const Prediction& said);
  /// The same, and predicts by itself where bounds or surprise need it.
  StepReport learn(std::span<const double> x, std::span<const double> d);
  /// Moves on to x without a target.
  StepReport advance(std::span<const double> x);
  /// Moves on to x, whose target was d. The learner stays as it is (Learner::observe); bounds,
  /// surprise and forecasts learn.
  StepReport observe(std::span<const double> x, std::span<const double> d, const Prediction& said);
  StepReport observe(std::span<const double> x, std::span<const double> d);

  /// Forecaster::forecast. Without a horizon there are no leads.
  std::size_t forecast(std::span<const double> inputs, std::size_t passed = 0);

  /// Each is nullptr where it was not asked for.
  const Intervals* intervals() const { return intervals_.empty() ? nullptr : intervals_.data(); }
  const Forecaster* forecaster() const { return forecaster_ ? &*forecaster_ : nullptr; }

  /// What is asked for anew starts from nothing; the rest goes on.
  void recalibrate(const CalibrationOptions& calibration);
  /// The learner becomes one for more classes (kalstream::widened).
  void widen(std::size_t outputs);

  /// Back to the state after construction.
  void reset();
  /// All that has been learnt besides the learner itself, to or from a snapshot.
  void exchange(Archive& archive);

 private:
  void start_intervals();
  void start_surprise();
  void start_forecaster();
  void judge(std::span<const double> spread, Prediction& to);
  StepReport taught(StepReport report, std::span<const double> d, const Prediction& said);
  bool needs_prediction(std::span<const double> x, std::span<const double> d) const;

  std::unique_ptr<Learner> learner_;
  CalibrationOptions calibration_;
  // Two of each, of predictions and of those across samples that wait; or none.
  std::vector<Intervals> intervals_;
  std::vector<Intervals> inner_;  // of each inner coverage
  std::vector<Surprise> surprise_;
  std::optional<Forecaster> forecaster_;
  Prediction own_;  // of a sample that is learnt without having been predicted
};

}  // namespace kalstream
