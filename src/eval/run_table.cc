#include "eval/run_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

double mean_of(const std::vector<TargetScore>& scores, const auto& part) {
  double sum = 0;
  for (const TargetScore& s : scores) sum += part(s);
  return sum / static_cast<double>(scores.size());
}

}  // namespace

RunTable::RunTable(const Dataset& data, const EvaluationOptions& options, const Schema& schema,
                   std::size_t last)
    : data_(data),
      options_(options),
      n_d_(data.n_targets()),
      levels_(decision_levels(data)),
      weights_(last, options.weight_points) {
  run_.kind.assign(last, RowKind::skipped);
  run_.place.assign(last, Timeline::none);
  run_.target.assign(last * n_d_, nan);
  run_.squared_error.assign(last, nan);
  run_.prediction.assign(last * n_d_, nan);
  if (schema.has_classes()) {
    run_.classes.emplace();
    run_.classes->begins.assign(1, 0);
    run_.classes->target.resize(last);
  }
  if (options.coverage > 0 && !run_.classes) {
    run_.low = run_.high = run_.prediction;
    run_.inner_coverages = options.inner;
    run_.inner.resize(last * options.inner.size() * n_d_);
  }
  if (options.surprise || options.alarms.strangeness || options.alarm_rate > 0)
    run_.surprise.assign(last * n_d_, nan);
  if (options.alarm_rate > 0) run_.anomaly.assign(last, false);
  if (options.alarms.strangeness && !run_.classes) run_.strangeness.assign(last * n_d_, nan);
  run_.has_alarms = options.alarms.any() && !run_.classes;
  if (options.missing == MissingInputs::hold) run_.held.assign(last, 0);
  run_.alarm_rate = options.alarm_rate;
  if (options.horizon == 0) return;
  farthest_ = run_.prediction;
  if (!options.keep_forecasts) return;
  run_.forecasts.horizon = options.horizon;
  run_.forecasts.value.assign(last * options.horizon * n_d_, nan);
  if (options.coverage > 0) run_.forecasts.low = run_.forecasts.high = run_.forecasts.value;
  run_.forecasts.inner.resize(run_.forecasts.value.size() * options.inner.size());
}

void RunTable::look_at(const Engine& engine, std::size_t t, std::size_t key) {
  engine_ = &engine;
  row_ = t;
  run_.steps = t + 1;
  if (models_.size() <= key) {
    models_.resize(key + 1);
    run_.timelines.resize(key + 1);
    if (!data_.keys.empty()) {
      run_.timelines[key].key = data_.keys[t];
    } else {
      models_[key].row_of.reserve(run_.kind.size());
      run_.timelines[key].row_at.reserve(run_.kind.size());
    }
  }
  model_ = &models_[key];
  line_ = &run_.timelines[key];
}

void RunTable::answered(const Answer& answer, std::string_view) {
  switch (answer.status) {
    case Answer::Status::predicted:
    case Answer::Status::learnt:
      return take(answer);
    case Answer::Status::labelled:
      return take_target(model_->row_of[answer.sample - 1], answer);
    case Answer::Status::late:
      if (answer.reason.empty()) {
        ++run_.late_labels;
        break;
      }
      ++run_.late_rows;
      leave_out(RowKind::late, answer);
      break;
    case Answer::Status::repeated:
      ++run_.repeated_rows;
      leave_out(RowKind::repeated, answer);
      break;
    case Answer::Status::ahead:
      ++run_.ahead_rows;
      run_.kind[row_] = RowKind::ahead;
      break;
    case Answer::Status::judged:
      break;
    case Answer::Status::refused:
      ++run_.skipped_rows;
      break;
  }
  if (run_.classes) end_row(row_);
}

void RunTable::scored(std::uint64_t sample, std::span<const double> d_hat,
                      std::span<const Interval>, std::span<const double> d) {
  // With forecasts, a sample is scored before it is answered.
  const std::size_t t = sample <= model_->row_of.size() ? model_->row_of[sample - 1] : row_;
  run_.squared_error[t] = squared_distance(d, d_hat);
  sum_sq_ += run_.squared_error[t];
  ++run_.scored;
}

void RunTable::stepped(std::uint64_t sample, const StepReport& report) {
  if (sample <= options_.warm_up) return;
  weights_.add(report.weights, run_);
  if (report.status == StepStatus::rejected_input) {  // x too large even for one forward pass
    ++run_.skipped_rows;
  } else if (report.status == StepStatus::missing) {
    ++run_.missing_targets;
  } else {
    applied_ += report.applied;
    updates_ += report.experts;
    run_.rejected_updates += report.rejected;
  }
}

void RunTable::end(std::size_t t) {
  if (data_.times.empty() || run_.kind[t] != RowKind::taken) return;
  const auto& step = engine_->models()->only()->clock().step();
  if (!line_->steps.empty() ? step == line_->steps.back().step : !step) return;
  line_->steps.push_back({t, step});
}

RunResult RunTable::finish(const RowsByKey& rows) {
  weights_.finish(run_);
  run_.passed_steps = engine_->counts().passed;
  score_forecasts(rows);
  shorten();
  run_.target_variance = static_cast<double>(n_d_) *
                         variance_of_targets(run_.target, n_d_, run_.steps, [&](std::size_t t) {
                           return !std::isnan(run_.squared_error[t]);
                         });
  const Predicted predicted{run_.target,     n_d_,     run_.squared_error,
                            run_.prediction, run_.low, run_.high};
  run_.targets = score_targets(predicted);
  run_.bounds = score_bounds(predicted);
  run_.rmse =
      std::sqrt(mean_of(run_.targets, [](const TargetScore& s) { return s.rmse * s.rmse; }));
  run_.mae = mean_of(run_.targets, [](const TargetScore& s) { return s.mae; });
  run_.nse = run_.scored == 0 || run_.classes ? nan : mean_squared_error() / run_.target_variance;
  run_.knse = mean(run_.forecast_squared_error) / run_.target_variance;  // NaN without forecasts
  run_.update_fraction =
      updates_ == 0 ? 0 : static_cast<double>(applied_) / static_cast<double>(updates_);
  return std::move(run_);
}

void RunTable::take(const Answer& answer) {
  const std::size_t t = row_;
  run_.kind[t] = RowKind::taken;
  model_->row_of.push_back(t);
  const std::uint64_t passed = engine_->counts().passed;
  line_->row_at.resize(line_->row_at.size() + passed - passed_, Timeline::none);
  passed_ = passed;
  run_.place[t] = line_->row_at.size();
  line_->row_at.push_back(t);
  if (!run_.held.empty())
    run_.held[t] = answer.held;
  else if (answer.held > 0)
    ++run_.rows_with_gaps;
  const bool counts = answer.sample > options_.warm_up;
  if (run_.classes) {
    if (counts) add_probabilities(answer);
    end_row(t);
  } else if (counts) {
    std::ranges::copy(answer.prediction, run_.prediction.begin() + t * n_d_);
    for (std::size_t k = 0; k < answer.interval.size(); ++k) {
      run_.low[t * n_d_ + k] = answer.interval[k].low;
      run_.high[t * n_d_ + k] = answer.interval[k].high;
    }
    std::ranges::copy(answer.inner, run_.inner.begin() + t * run_.inner_coverages.size() * n_d_);
  }
  if (!answer.target.empty()) take_target(t, answer);
  if (!answer.forecast.empty() && counts) keep_forecast(t, answer);
  if (answer.alarm && answer.target.empty()) keep_alarm(*answer.alarm);
}

// The end of an alarm is told of the last one of its key, if that lasts.
void RunTable::keep_alarm(const AlarmNews& news) {
  const auto row = [&](std::uint64_t sample) {
    return sample > 0 ? model_->row_of[sample - 1] : RunAlarm::none;
  };
  auto alarm = run_.alarms.rbegin();
  if (!news.is_new)
    while (alarm != run_.alarms.rend() && alarm->key != line_->key) ++alarm;
  if (news.is_new || alarm == run_.alarms.rend()) {
    run_.alarms.push_back({.key = line_->key});
    alarm = run_.alarms.rbegin();
  }
  alarm->alarm = news.alarm;
  alarm->start = row(news.alarm.start.sample);
  alarm->end = row(news.alarm.end.sample);
}

// The table shows its target all the same.
void RunTable::leave_out(RowKind kind, const Answer& answer) {
  run_.kind[row_] = kind;
  if (!run_.classes)
    std::ranges::copy(answer.target, run_.target.begin() + row_ * n_d_);
  else
    run_.classes->target[row_] = answer.label;
}

void RunTable::take_target(std::size_t t, const Answer& answer) {
  std::ranges::copy(answer.target, run_.target.begin() + t * n_d_);
  if (run_.classes) {
    run_.classes->target[t] = answer.label;
    place_of_class(std::string(answer.label));
  }
  if (!run_.surprise.empty()) std::ranges::copy(answer.surprise, run_.surprise.begin() + t * n_d_);
  if (!run_.anomaly.empty()) run_.anomaly[t] = answer.anomaly;
  if (!run_.strangeness.empty())
    std::ranges::copy(answer.strangeness, run_.strangeness.begin() + t * n_d_);
  if (answer.alarm) keep_alarm(*answer.alarm);
  const bool counts = answer.sample > options_.warm_up;
  if (counts) run_.anomalies += answer.anomaly ? 1 : 0;
  if (options_.on_target) options_.on_target(*line_, run_.place[t], answer.target);
  if (run_.classes || !counts) return;
  const auto said = std::span(run_.prediction).subspan(t * n_d_, n_d_);
  streak_ = same_sides(answer.target, said, levels_) ? streak_ + 1 : 0;
  if (streak_ == options_.sustained_length && !run_.sustained_at)
    run_.sustained_at = row_ + 1 - options_.warm_up;
}

// Models know different classes: the table has all of them.
void RunTable::add_probabilities(const Answer& answer) {
  ClassResult& of = *run_.classes;
  const std::size_t first = of.probability.size();
  const std::size_t known = std::min(answer.classes.size(), answer.prediction.size());
  for (std::size_t k = 0; k < known; ++k) {
    const std::size_t place = place_of_class(answer.classes[k]);
    if (of.probability.size() <= first + place) of.probability.resize(first + place + 1, nan);
    of.probability[first + place] = answer.prediction[k];
  }
}

std::size_t RunTable::place_of_class(const std::string& name) {
  std::vector<std::string>& names = run_.classes->names;
  const auto found = std::ranges::find(names, name);
  const auto place = static_cast<std::size_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return place;
}

// The probabilities of row t, and of rows before it that have none, end here.
void RunTable::end_row(std::size_t t) {
  run_.classes->begins.resize(t + 2, run_.classes->probability.size());
}

void RunTable::keep_forecast(std::size_t t, Answer answer) {
  const std::size_t numbers = options_.horizon * n_d_;
  answer.forecast = answer.forecast.first(numbers);
  if (!answer.forecast_interval.empty())
    answer.forecast_interval = answer.forecast_interval.first(numbers);
  const std::size_t narrower = numbers * options_.inner.size();
  if (!answer.forecast_inner.empty()) answer.forecast_inner = answer.forecast_inner.first(narrower);
  std::ranges::copy(answer.forecast.last(n_d_), farthest_.begin() + t * n_d_);
  if (options_.on_forecast) options_.on_forecast(*line_, t, answer);
  KeptForecasts& kept = run_.forecasts;
  if (kept.value.empty()) return;
  const std::size_t first = t * numbers;
  std::ranges::copy(answer.forecast, kept.value.begin() + first);
  for (std::size_t k = 0; k < answer.forecast_interval.size(); ++k) {
    kept.low[first + k] = answer.forecast_interval[k].low;
    kept.high[first + k] = answer.forecast_interval[k].high;
  }
  std::ranges::copy(answer.forecast_inner, kept.inner.begin() + t * narrower);
}

// Of what was said after each row, the step `horizon` after it.
void RunTable::score_forecasts(const RowsByKey& rows) {
  if (options_.horizon == 0) return;
  run_.forecast_squared_error.assign(run_.kind.size(), nan);
  for (std::size_t t = 0; t < run_.steps; ++t) {
    if (run_.kind[t] != RowKind::taken) continue;
    const std::vector<std::size_t>& row_at = run_.timelines[rows.key_of(t)].row_at;
    const std::size_t place = run_.place[t] + options_.horizon;
    if (place >= row_at.size() || row_at[place] == Timeline::none) continue;
    const std::size_t there = row_at[place];
    const auto d = there < run_.kind.size() ? std::span(run_.target).subspan(there * n_d_, n_d_)
                                            : data_.d(there);
    if (!all_finite(d)) continue;
    run_.forecast_squared_error[t] =
        squared_distance(d, std::span(farthest_).subspan(t * n_d_, n_d_));
  }
}

// A run may have ended early.
void RunTable::shorten() {
  const std::size_t rows = run_.steps;
  run_.kind.resize(rows);
  run_.place.resize(rows);
  run_.squared_error.resize(rows);
  const auto shorter = [&](std::vector<double>& values, std::size_t each) {
    if (!values.empty()) values.resize(rows * each);
  };
  shorter(run_.target, n_d_);
  shorter(run_.prediction, n_d_);
  shorter(run_.low, n_d_);
  shorter(run_.high, n_d_);
  shorter(run_.surprise, n_d_);
  shorter(run_.strangeness, n_d_);
  shorter(run_.forecast_squared_error, 1);
  KeptForecasts& kept = run_.forecasts;
  for (auto* values : {&kept.value, &kept.low, &kept.high})
    shorter(*values, options_.horizon * n_d_);
  if (!run_.held.empty()) run_.held.resize(rows);
  if (!run_.anomaly.empty()) run_.anomaly.resize(rows);
}

}  // namespace kalstream
