#include "eval/progressive.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/finite.h"
#include "eval/statistics.h"

namespace kalstream {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

// Both on the same side of every level; of none that is NaN.
bool same_sides(std::span<const double> a, std::span<const double> b,
                std::span<const double> levels) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::isnan(levels[k]) || (a[k] > levels[k]) != (b[k] > levels[k])) return false;
  return true;
}

double decision_level(const Dataset& data, std::size_t target) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool two_values = true;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const double d = data.d(t)[target];
    if (!std::isfinite(d)) continue;
    two_values &= low >= high || d == low || d == high;
    low = std::min(low, d);
    high = std::max(high, d);
    if (low < 0 && high > 0) return 0;
  }
  return two_values && low < high ? std::midpoint(low, high) : nan;
}

/// The steps that no row is there for: inputs stay what they were, but for those known ahead.
class Gaps {
 public:
  Gaps(const Dataset& data, const Timeline& timeline, const std::vector<bool>& known)
      : data_(data), timeline_(timeline), known_(known) {}

  /// What comes before row t, one step after the other.
  void pass(std::size_t t, const auto& step) {
    for (std::size_t k = timeline_.missing[t]; k > 0; --k) {
      x_.assign(data_.x(last_).begin(), data_.x(last_).end());
      if (!timeline_.usual_elapsed.empty()) x_.back() = timeline_.usual_elapsed[t];
      const std::size_t ahead = timeline_.row_at[timeline_.place[t] - k];
      for (std::size_t j = 0; j < x_.size() && ahead != Timeline::none; ++j)
        if (known_[j] && !std::isnan(data_.x(ahead)[j])) x_[j] = data_.x(ahead)[j];
      step(x_);
    }
    last_ = t;
  }

 private:
  const Dataset& data_;
  const Timeline& timeline_;
  const std::vector<bool>& known_;
  std::size_t last_ = 0;  // row that was taken
  std::vector<double> x_;
};

/// Follows the weights of a mixture's experts: a point every so many rows.
class WeightRecorder {
 public:
  WeightRecorder(std::size_t rows, std::size_t points)
      : stride_(points == 0 ? 0 : std::max<std::size_t>(1, (rows + points - 1) / points)) {}

  /// After each row. A learner that is no mixture, or refused the row, has no weights to tell.
  void add(std::span<const double> weights, RunResult& run) {
    if (weights.empty()) return;
    run.weights.assign(weights.begin(), weights.end());
    if (stride_ == 0) return;
    sum_.resize(weights.size());
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += weights[j];
    ++count_;
    if (run.steps < due_) return;
    due_ = (run.steps / stride_ + 1) * stride_;
    add_point(run);
  }

  /// What is left since the last point.
  void finish(RunResult& run) {
    if (count_ > 0) add_point(run);
  }

 private:
  void add_point(RunResult& run) {
    run.weight_path.rows.push_back(run.steps);
    for (double& s : sum_)
      run.weight_path.weights.push_back(std::exchange(s, 0.0) / static_cast<double>(count_));
    count_ = 0;
  }

  std::size_t stride_;  // rows; 0: nothing is kept on the way
  std::size_t due_ = stride_;
  std::vector<double> sum_;  // since the last point
  std::size_t count_ = 0;
};

// Mean over outputs of the variance of the targets in those of the first rows that count.
double variance_of_targets(const Dataset& data, std::size_t rows, const auto& counts) {
  const std::size_t n_d = data.n_targets();
  double total = 0;
  std::vector<double> column;
  for (std::size_t k = 0; k < n_d; ++k) {
    column.clear();
    for (std::size_t t = 0; t < rows; ++t)
      if (counts(t)) column.push_back(data.d(t)[k]);
    total += variance(column);
  }
  return total / static_cast<double>(n_d);
}

double coverage_of(const EvaluationOptions& options) {
  return options.intervals == nullptr ? options.coverage : options.intervals->nominal();
}

double mean_of(const std::vector<TargetScore>& scores, const auto& part) {
  double sum = 0;
  for (const TargetScore& s : scores) sum += part(s);
  return sum / static_cast<double>(scores.size());
}

}  // namespace

std::vector<double> decision_levels(const Dataset& data) {
  std::vector<double> levels(data.n_targets());
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = decision_level(data, k);
  return levels;
}

double target_variance(const Dataset& data, std::size_t steps) {
  return variance_of_targets(data, std::min(steps, data.rows()), [&](std::size_t t) {
    return all_finite(data.x(t)) && all_finite(data.d(t));
  });
}

RunResult evaluate(Learner& learner, const Dataset& data, const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step) {
  using Clock = std::chrono::steady_clock;
  const std::size_t n_d = data.n_targets();
  const std::size_t last = options.steps == 0 ? data.rows() : std::min(options.steps, data.rows());

  RunResult run;
  run.squared_error.assign(last, nan);
  run.prediction.assign(last * n_d, nan);
  if (options.horizon > 0) run.forecast_squared_error.assign(last, nan);
  double sum_sq = 0;
  std::size_t applied = 0;
  std::size_t updates = 0;
  const std::vector<double> levels = decision_levels(data);
  std::size_t streak = 0;
  // Before the first target nothing can be known: that row is learnt, not scored.
  bool target_known = learner.samples() > 0;
  std::vector<bool> known = options.known_ahead;
  if (options.all_known_ahead) known.assign(data.n_inputs(), true);
  const Timeline timeline = timeline_of(data, known);
  known.resize(data.n_inputs(), false);
  Gaps gaps(data, timeline, known);
  auto found = timeline.found.begin();
  if (options.periods) learner.expect_periods(*options.periods);
  const bool bounds_wanted = options.keep_forecasts || options.on_forecast;
  std::optional<ForecastKeeper> keeper;
  if (options.horizon > 0)
    keeper.emplace(learner, data, timeline, last,
                   ForecastOptions{.horizon = options.horizon,
                                   .coverage = bounds_wanted ? coverage_of(options) : 0,
                                   .keep = options.keep_forecasts,
                                   .hold_unknown = options.hold_unknown,
                                   .known_ahead = known});
  std::optional<Intervals> own;
  if (options.intervals == nullptr && options.coverage > 0) own.emplace(n_d, options.coverage);
  Intervals* const intervals = own ? &*own : options.intervals;
  std::vector<Interval> bounds(intervals == nullptr ? 0 : n_d);
  run.low.assign(bounds.empty() ? 0 : last * n_d, nan);
  run.high = run.low;
  std::optional<Surprise> surprise;
  if (options.surprise || options.alarm_rate > 0) surprise.emplace(n_d);
  run.alarm_rate = options.alarm_rate;
  run.surprise.assign(surprise ? last * n_d : 0, nan);
  Clock::duration learning{};
  WeightRecorder recorder(last, options.weight_points);

  for (std::size_t t = 0; t < last; ++t) {
    run.steps = t + 1;
    const auto x = data.x(t);
    const auto d = data.d(t);
    if (timeline.kind[t] != Timeline::Row::taken) {
      ++(timeline.kind[t] == Timeline::Row::skipped ? run.skipped_rows : run.untimely_rows);
      continue;
    }
    run.passed_steps += timeline.missing[t];
    gaps.pass(t, [&](std::span<const double> held) {
      learner.advance(held);
      if (keeper) keeper->pass(learner);
    });
    if (found != timeline.found.end() && found->row == t) {
      if (found->is_news && !options.periods) learner.expect_periods(found->periods);
      ++found;
    }
    const bool has_target = all_finite(d);
    const bool counts = target_known;
    target_known |= has_target;
    if (t < options.warm_up) {
      learner.advance(x);
      if (keeper) keeper->pass(learner);
      continue;
    }
    const auto start = Clock::now();
    const auto d_hat = learner.predict(x);
    std::copy(d_hat.begin(), d_hat.end(), run.prediction.begin() + t * n_d);
    if (intervals != nullptr)
      std::ranges::copy(intervals->around(d_hat, learner.spread()), bounds.begin());
    if (surprise && has_target) {
      const auto expected = surprise->expect(d_hat, learner.spread());
      const auto p = surprise->of(expected, d);
      std::ranges::copy(p, run.surprise.begin() + t * n_d);
      run.anomalies += Surprise::is_anomaly(p, options.alarm_rate) ? 1 : 0;
      surprise->learn(expected, d);
    }
    const StepReport report = has_target ? learner.learn(x, d) : learner.advance(x);
    if (has_target && report.status != StepStatus::rejected_input && intervals != nullptr)
      intervals->learn(bounds, d);
    learning += Clock::now() - start;
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      run.low[t * n_d + k] = bounds[k].low;
      run.high[t * n_d + k] = bounds[k].high;
    }
    recorder.add(report.weights, run);

    if (report.status == StepStatus::rejected_input) {  // x too large even for one forward pass
      ++run.skipped_rows;
    } else if (has_target) {
      const auto prediction = std::span(run.prediction).subspan(t * n_d, n_d);
      if (counts) {
        run.squared_error[t] = squared_distance(d, prediction);
        sum_sq += run.squared_error[t];
        ++run.scored;
      }
      applied += report.applied;
      updates += report.experts;
      run.rejected_updates += report.rejected;
      streak = same_sides(d, prediction, levels) ? streak + 1 : 0;
      if (streak == options.sustained_length && !run.sustained_at)
        run.sustained_at = t + 1 - options.warm_up;
    } else {
      ++run.missing_targets;
    }
    if (keeper) {
      keeper->add(learner, t, has_target && report.status != StepStatus::rejected_input);
      run.forecast_squared_error[t] = keeper->farthest_error(t);
      if (options.on_forecast) options.on_forecast(timeline, t, keeper->forecaster());
    }
    if (on_step && t % 16 == 15 && run.scored > 0)
      on_step(t + 1, sum_sq / static_cast<double>(run.scored));
    if (run.sustained_at && options.stop_when_sustained) break;
  }
  recorder.finish(run);
  run.squared_error.resize(run.steps);
  run.prediction.resize(run.steps * n_d);
  run.low.resize(bounds.empty() ? 0 : run.steps * n_d);
  run.high.resize(run.low.size());
  run.surprise.resize(surprise ? run.steps * n_d : 0);
  if (options.horizon > 0) run.forecast_squared_error.resize(run.steps);

  run.target_variance =
      static_cast<double>(n_d) * variance_of_targets(data, run.steps, [&](std::size_t t) {
        return !std::isnan(run.squared_error[t]);
      });
  if (keeper) run.forecasts = keeper->take(run.steps);
  const Predicted predicted{run.squared_error, run.prediction, run.low, run.high};
  run.targets = score_targets(data, predicted);
  run.bounds = score_bounds(data, predicted);
  run.rmse = std::sqrt(mean_of(run.targets, [](const TargetScore& s) { return s.rmse * s.rmse; }));
  run.mae = mean_of(run.targets, [](const TargetScore& s) { return s.mae; });
  run.nse = run.scored == 0 ? nan : sum_sq / static_cast<double>(run.scored) / run.target_variance;
  run.knse = mean(run.forecast_squared_error) / run.target_variance;  // NaN without forecasts
  run.update_fraction =
      updates == 0 ? 0 : static_cast<double>(applied) / static_cast<double>(updates);
  const auto periods = learner.periods();
  run.periods.assign(periods.begin(), periods.end());
  run.seconds = std::chrono::duration<double>(learning).count();
  return run;
}

}  // namespace kalstream
