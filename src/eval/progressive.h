// Progressive validation: a stream held in memory goes through a session, which predicts, scores
// and learns; what it tells becomes a table.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/answer.h"
#include "engine/engine_options.h"
#include "engine/scores.h"
#include "eval/scores.h"
#include "eval/timeline.h"
#include "kalstream/calibrated.h"
#include "schema/dataset.h"

namespace kalstream {

struct EvaluationOptions {
  std::size_t steps = 0;    ///< rows to use, those of the warm-up included; 0: all
  std::size_t warm_up = 0;  ///< first rows that are passed through, neither scored nor learnt
  std::size_t horizon = 0;  ///< k of kNSE; 0: none
  bool stop_when_sustained = false;
  std::size_t sustained_length = 500;  ///< correct predictions in a row (decision_levels)
  std::size_t weight_points = 0;       ///< of RunResult::weight_path, at most; 0: none
  /// Bounds around every prediction and forecast hold this part of the targets; 0: there are none.
  double coverage = 0;
  std::vector<double> inner = {};  ///< coverages of narrower bounds within them, ascending
  bool surprise = false;           ///< RunResult::surprise
  double alarm_rate = 0;     ///< the part of ordinary rows that may be told as anomalies; 0: none
  AlarmOptions alarms = {};  ///< RunResult::strangeness and alarms
  /// What forecasts and their bounds are held within, as far as Outlooks (eval/outlook.h) tells
  /// them.
  double floor = -std::numeric_limits<double>::infinity();
  double ceiling = std::numeric_limits<double>::infinity();
  bool keep_forecasts = false;  ///< RunResult::forecasts, of every lead up to the horizon
  MissingInputs missing = MissingInputs::learn;
  /// Inputs that forecasts may see ahead of their time, by name; others stay at their last values.
  std::vector<std::string> future = {};
  bool all_known_ahead = false;  ///< all are, as in published experiments
  /// Targets come when so many further rows of the same model have been predicted.
  std::size_t delay = 0;
  std::size_t max_delay = 1000;  ///< rows that may come between one and its target
  /// Rows behind the last one of their key that has a target are the future: they are not taken,
  /// but forecasts see their inputs.
  bool only_history = false;
  /// Hears of every forecast, which is part of the answer to row t.
  std::function<void(const Timeline&, std::size_t t, const Answer&)> on_forecast = {};
  /// Hears of every target as soon as the model may know it, with its place in the timeline.
  std::function<void(const Timeline&, std::size_t place, std::span<const double> d)> on_target = {};
  /// Of the season, in rows; unset: those the times tell, or the learner finds.
  std::optional<std::vector<double>> periods = {};
};

/// How the weights of a mixture's experts went.
struct WeightPath {
  std::vector<std::size_t> rows;  ///< counted from 1
  std::vector<double> weights;    ///< rows × experts: the mean since the row before
};

/// Made after each row, of the steps that follow it: rows × horizon × outputs. NaN where there is
/// none.
struct KeptForecasts {
  std::size_t horizon = 0;
  std::vector<double> value;
  std::vector<double> low, high;  ///< empty without intervals
  std::vector<Interval> inner;  ///< narrower bounds: rows × horizon × inner coverages × outputs
};

/// What a stream of classes has besides.
struct ClassResult {
  ClassScores scores;
  std::vector<std::string> names;   ///< those that came, in the order in which they did
  std::vector<std::string> target;  ///< of each row, as it came; empty: missing
  /// Of each row, the probabilities of the classes that were known then, one row after the other.
  std::vector<double> probability;
  std::vector<std::size_t> begins;  ///< of each row, in `probability`; one more at the end
};

/// An alarm, and the rows it is about.
struct RunAlarm {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  std::string key;  ///< of the model; empty: there is but one
  std::size_t start = none;
  std::size_t end = none;  ///< none: it lasts
  AlarmEvent alarm;
};

/// What one learner did on one stream.
struct RunResult {
  double nse = 0;   ///< Σ‖d − d̂‖² / Σ‖d − mean d‖² over the scored steps
  double rmse = 0;  ///< √(mean ‖d − d̂‖²/n) with n targets
  double mae = 0;   ///< mean Σ|d_k − d̂_k|/n
  /// Mean −ln p of the class that came; NaN unless targets are classes, which have no NSE.
  double log_loss = std::numeric_limits<double>::quiet_NaN();
  BoundsScore bounds;  ///< of all targets together
  double knse = 0;     ///< the same for forecasts of d_{t+k} made at t; NaN without a horizon
  double target_variance = 0;  ///< what both are divided by: Σ‖d − mean d‖² per scored step
  std::size_t steps = 0;       ///< rows gone through
  std::size_t scored = 0;      ///< rows with a prediction and a target, after the first target
  std::size_t missing_targets = 0;   ///< advanced, not learnt; those of the warm-up apart
  std::size_t skipped_rows = 0;      ///< an input was missing or unusable
  std::size_t rows_with_gaps = 0;    ///< taken although inputs were missing, none of them held
  std::size_t late_rows = 0;         ///< as times tell: not learnt
  std::size_t repeated_rows = 0;     ///< the same
  std::size_t ahead_rows = 0;        ///< brought inputs ahead of their time
  std::size_t late_labels = 0;       ///< targets of rows that did not wait for them (any more)
  std::size_t passed_steps = 0;      ///< rows that are missing, as times tell
  std::size_t rejected_updates = 0;  ///< by the learner's own guard, over all experts
  double update_fraction = 0;        ///< applied updates / (rows learnt × experts)
  double seconds = 0;                ///< from the first row to the last
  /// The row, counted from the end of the warm-up, that completes the run of correct predictions.
  std::optional<std::size_t> sustained_at;
  std::vector<double> squared_error;  ///< per row, NaN where not scored
  /// Of the forecast made after each row, NaN where there is none; empty without a horizon.
  std::vector<double> forecast_squared_error;
  std::vector<double> target;      ///< rows × outputs, as they came, also late; NaN: missing
  std::vector<double> prediction;  ///< rows × outputs, NaN where there is none
  std::vector<double> low, high;  ///< bounds of predictions, NaN where there are none; if asked for
  std::vector<double> inner_coverages;  ///< of narrower bounds within them …
  std::vector<Interval> inner;          ///< … which are rows × inner coverages × outputs
  std::vector<double> surprise;         ///< of each target, NaN where there is none; if asked for
  std::vector<std::size_t> held;        ///< of each row, inputs that were held; if they may be
  double alarm_rate = 0;                ///< of ordinary rows that may be told as anomalies; 0: none
  std::vector<bool> anomaly;            ///< of each row whether it is one; if there is a rate
  std::size_t anomalies = 0;            ///< so many are
  std::vector<double> strangeness;      ///< of each target, as surprise; if asked for
  bool has_alarms = false;              ///< they were asked for
  std::vector<RunAlarm> alarms;         ///< in the order in which they began
  std::vector<TargetScore> targets;     ///< each by itself
  KeptForecasts forecasts;              ///< if asked for
  std::vector<double> weights;          ///< of a mixture's experts, at the end; empty otherwise
  std::vector<double> periods;          ///< the learner reckons with, at the end
  WeightPath weight_path;               ///< if asked for
  std::optional<ClassResult> classes;
  std::vector<RowKind> kind;         ///< of each row
  std::vector<std::size_t> place;    ///< of each row that was taken, in its timeline
  std::vector<Timeline> timelines;   ///< of each model, in the order in which they came
  std::vector<std::string> remarks;  ///< for people

  /// Rows that tell nothing because of their times.
  std::size_t untimely_rows() const { return late_rows + repeated_rows + ahead_rows; }
};

/// Runs the stream through a session with this engine, whose fields, calibration and the like are
/// the dataset's and the options'. `on_step(t, mean squared error so far)` is called now and then,
/// for progress. The models are given to `finished`, if that is there.
RunResult evaluate(EngineOptions engine, const Dataset& data, const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step = {},
                   const std::function<void(Engine&)>& finished = {});

/// The same with one learner, which has learnt the stream afterwards. It stays as it was if
/// something is thrown.
RunResult evaluate(CalibratedLearner& learner, const Dataset& data,
                   const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step = {});

/// For each target the number on whose sides it is decided: a prediction that is on the same side
/// as the target is correct. 0 where targets have either sign, as published; for a target of two
/// values such as 0 and 1, their middle; NaN where it is neither, and nothing can be called
/// correct.
std::vector<double> decision_levels(const Dataset& data);

/// Mean over outputs of the variance of the targets in the first `steps` rows that have targets,
/// and inputs unless these may be held; NaN if there is none.
double target_variance(const Dataset& data, std::size_t steps, bool holds_inputs = false);

/// Rows up to the last one that has a target: those behind it tell of the future.
std::size_t history_of(const Dataset& data);

}  // namespace kalstream
