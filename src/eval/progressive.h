// Progressive validation: predict, score, learn, in this order and in this one place.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "eval/forecasts.h"
#include "eval/scores.h"
#include "kalstream/interval.h"
#include "kalstream/learner.h"
#include "kalstream/surprise.h"

namespace kalstream {

struct EvaluationOptions {
  std::size_t steps = 0;    ///< rows to use, those of the warm-up included; 0: all
  std::size_t warm_up = 0;  ///< first rows that are passed through, neither scored nor learnt
  std::size_t horizon = 0;  ///< k of kNSE; 0: none
  bool stop_when_sustained = false;
  std::size_t sustained_length = 500;  ///< correct predictions in a row (decision_levels)
  std::size_t weight_points = 0;       ///< of RunResult::weight_path, at most; 0: none
  /// Bounds around every prediction, and every forecast that is kept, hold this part of the
  /// targets, learnt as it goes; 0: there are none.
  double coverage = 0;
  /// Those of predictions if the caller has some to go on with; then `coverage` is theirs.
  Intervals* intervals = nullptr;
  bool surprise = false;  ///< RunResult::surprise
  double alarm_rate = 0;  ///< the part of ordinary rows that may be told as anomalies; 0: none
  bool keep_forecasts = false;  ///< RunResult::forecasts, of every lead up to the horizon
  /// For every input whether forecasts may see it ahead of its time; empty: none, all stay at their
  /// last values.
  std::vector<bool> known_ahead = {};
  bool all_known_ahead = false;  ///< all are, as in published experiments
  /// Where what should be known is not, it stays at its last value; else forecasts end there.
  bool hold_unknown = false;
  /// Hears of every forecast, made after row t.
  std::function<void(const Timeline&, std::size_t t, const Forecaster&)> on_forecast = {};
  /// Of the season, in rows; unset: those the times tell, or the learner finds.
  std::optional<std::vector<double>> periods = {};
};

/// How the weights of a mixture's experts went.
struct WeightPath {
  std::vector<std::size_t> rows;  ///< counted from 1
  std::vector<double> weights;    ///< rows × experts: the mean since the row before
};

/// What one learner did on one stream.
struct RunResult {
  double nse = 0;      ///< Σ‖d − d̂‖² / Σ‖d − mean d‖² over the scored steps
  double rmse = 0;     ///< √(mean ‖d − d̂‖²/n) with n targets
  double mae = 0;      ///< mean Σ|d_k − d̂_k|/n
  BoundsScore bounds;  ///< of all targets together
  double knse = 0;     ///< the same for forecasts of d_{t+k} made at t; NaN without a horizon
  double target_variance = 0;  ///< what both are divided by: Σ‖d − mean d‖² per scored step
  std::size_t steps = 0;       ///< rows gone through
  std::size_t scored = 0;      ///< rows with a prediction and a target, after the first target
  std::size_t missing_targets = 0;   ///< advanced, not learnt; those of the warm-up apart
  std::size_t skipped_rows = 0;      ///< an input was missing or unusable
  std::size_t untimely_rows = 0;     ///< late or repeated, as times tell, or ahead: not learnt
  std::size_t passed_steps = 0;      ///< rows that are missing, as times tell
  std::size_t rejected_updates = 0;  ///< by the learner's own guard, over all experts
  double update_fraction = 0;        ///< applied updates / (rows learnt × experts)
  double seconds = 0;                ///< in predict, learn and advance
  /// The row, counted from the end of the warm-up, that completes the run of correct predictions.
  std::optional<std::size_t> sustained_at;
  std::vector<double> squared_error;  ///< per row, NaN where not scored
  /// Of the forecast made after each row, NaN where there is none; empty without a horizon.
  std::vector<double> forecast_squared_error;
  std::vector<double> prediction;  ///< rows × outputs, NaN where there is none
  std::vector<double> low, high;  ///< bounds of predictions, NaN where there are none; if asked for
  std::vector<double> surprise;   ///< of each target, NaN where there is none; if asked for
  double alarm_rate = 0;          ///< a row is an anomaly by Surprise::is_anomaly of this …
  std::size_t anomalies = 0;      ///< … and so many are
  std::vector<TargetScore> targets;  ///< each by itself
  KeptForecasts forecasts;           ///< if asked for
  std::vector<double> weights;       ///< of a mixture's experts, at the end; empty otherwise
  std::vector<double> periods;       ///< the learner reckons with, at the end
  WeightPath weight_path;            ///< if asked for
};

/// Runs the learner over the stream. `on_step(t, mean squared error so far)` is called now and
/// then, for progress.
RunResult evaluate(Learner& learner, const Dataset& data, const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step = {});

/// For each target the number on whose sides it is decided: a prediction that is on the same side
/// as the target is correct. 0 where targets have either sign, as published; for a target of two
/// values such as 0 and 1, their middle; NaN where it is neither, and nothing can be called
/// correct.
std::vector<double> decision_levels(const Dataset& data);

/// Mean over outputs of the variance of the targets in the first `steps` rows that have inputs and
/// targets; NaN if there is none.
double target_variance(const Dataset& data, std::size_t steps);

}  // namespace kalstream
