#include "eval/progressive.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/finite.h"
#include "engine/engine.h"
#include "eval/statistics.h"
#include "schema/future.h"
#include "session/session.h"

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
double variance_of_targets(std::span<const double> targets, std::size_t n_d, std::size_t rows,
                           const auto& counts) {
  double total = 0;
  std::vector<double> column;
  for (std::size_t k = 0; k < n_d; ++k) {
    column.clear();
    for (std::size_t t = 0; t < rows; ++t)
      if (counts(t)) column.push_back(targets[t * n_d + k]);
    total += variance(column);
  }
  return total / static_cast<double>(n_d);
}

double mean_of(const std::vector<TargetScore>& scores, const auto& part) {
  double sum = 0;
  for (const TargetScore& s : scores) sum += part(s);
  return sum / static_cast<double>(scores.size());
}

// The sample that a row is.
void read_row(const Dataset& data, std::size_t t, bool elapsed, Sample& to) {
  const auto x = data.x(t);
  const auto d = data.d(t);
  to.x.assign(x.begin(), x.end());
  to.missing = static_cast<std::size_t>(std::count_if(x.begin(), x.end() - (elapsed ? 1 : 0),
                                                      [](double v) { return std::isnan(v); }));
  if (all_finite(d))
    to.d.assign(d.begin(), d.end());
  else
    to.d.clear();
  if (!data.classes.empty()) to.label = data.classes[t];
  if (!data.keys.empty()) to.key = data.keys[t];
  if (!data.ids.empty()) to.id = data.ids[t];
  if (data.times.empty()) return;
  to.time = data.times[t];
  to.has_moment = data.moments[t] != Dataset::no_moment;
  to.moment = to.has_moment ? data.moments[t] : 0;
  to.tick.reset();
  if (data.ticks[t] != Dataset::no_moment) to.tick = data.ticks[t];
}

// Arrays and generated streams have names, but no schema.
Schema schema_of(const Dataset& data) {
  if (!data.schema.empty()) return data.schema;
  Schema schema;
  for (const std::string& name : data.input_names)
    schema.fields.push_back({.name = name, .role = Role::input});
  for (const std::string& name : data.target_names)
    schema.fields.push_back({.name = name, .role = Role::target});
  return schema;
}

/// The rows of every key, in their order.
class RowsByKey {
 public:
  RowsByKey(const Dataset& data, std::size_t last) {
    of_row_.resize(last);
    if (data.keys.empty()) known_.emplace("", 0);
    for (std::size_t t = 0; t < last; ++t) {
      std::size_t key = 0;
      if (!data.keys.empty()) key = known_.emplace(data.keys[t], known_.size()).first->second;
      if (rows_.size() <= key) rows_.emplace_back();
      of_row_[t] = {key, rows_[key].size()};
      rows_[key].push_back(t);
    }
  }

  /// A key that has no rows comes after all others.
  std::size_t find(const std::string& key) const {
    const auto known = known_.find(key);
    return known == known_.end() ? rows_.size() : known->second;
  }

  std::size_t key_of(std::size_t t) const { return of_row_[t].first; }
  std::size_t keys() const { return rows_.size(); }
  const std::vector<std::size_t>& rows(std::size_t key) const { return rows_[key]; }
  std::size_t place_of(std::size_t t) const { return of_row_[t].second; }  ///< in rows()

 private:
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<std::vector<std::size_t>> rows_;
  std::vector<std::pair<std::size_t, std::size_t>> of_row_;  // key, and place among its rows
};

/// Makes a table of what a session tells.
class Recorder final : public StreamListener {
 public:
  Recorder(const Dataset& data, const EvaluationOptions& options, const Schema& schema,
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
    if (options.coverage > 0 && !run_.classes) run_.low = run_.high = run_.prediction;
    if (options.surprise || options.alarm_rate > 0) run_.surprise.assign(last * n_d_, nan);
    if (options.alarm_rate > 0) run_.anomaly.assign(last, false);
    if (options.hold_missing) run_.held.assign(last, 0);
    run_.alarm_rate = options.alarm_rate;
    if (options.horizon == 0) return;
    farthest_ = run_.prediction;
    if (!options.keep_forecasts) return;
    run_.forecasts.horizon = options.horizon;
    run_.forecasts.value.assign(last * options.horizon * n_d_, nan);
    if (options.coverage > 0) run_.forecasts.low = run_.forecasts.high = run_.forecasts.value;
  }

  /// What follows is told of row t, or of labels that come before it.
  void look_at(const Engine& engine, std::size_t t, std::size_t key) {
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

  void answered(const Answer& answer, std::string_view) override {
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
      case Answer::Status::refused:
        ++run_.skipped_rows;
        break;
    }
    if (run_.classes) end_row(row_);
  }

  void scored(std::uint64_t sample, std::span<const double> d_hat, std::span<const Interval>,
              std::span<const double> d) override {
    // With forecasts, a sample is scored before it is answered.
    const std::size_t t = sample <= model_->row_of.size() ? model_->row_of[sample - 1] : row_;
    run_.squared_error[t] = squared_distance(d, d_hat);
    sum_sq_ += run_.squared_error[t];
    ++run_.scored;
  }

  void stepped(std::uint64_t sample, const StepReport& report) override {
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

  void remarked(const std::string& text) override { run_.remarks.push_back(text); }

  /// All that row t has taught is learnt.
  void end(std::size_t t) {
    if (data_.times.empty() || run_.kind[t] != RowKind::taken) return;
    const auto& step = engine_->models()->only()->clock().step();
    if (!line_->steps.empty() ? step == line_->steps.back().step : !step) return;
    line_->steps.push_back({t, step});
  }

  bool is_sustained() const { return run_.sustained_at && options_.stop_when_sustained; }
  double mean_squared_error() const { return sum_sq_ / static_cast<double>(run_.scored); }
  std::size_t scored_rows() const { return run_.scored; }
  /// Places of rows that come behind those that were taken: for what was forecast of them.
  std::vector<Timeline>& timelines() { return run_.timelines; }
  void place(std::size_t key, std::size_t t) { run_.timelines[key].row_at.push_back(t); }

  RunResult finish(const RowsByKey& rows) {
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

 private:
  struct Model {
    std::vector<std::size_t> row_of;  // of each sample
  };

  void take(const Answer& answer) {
    const std::size_t t = row_;
    run_.kind[t] = RowKind::taken;
    model_->row_of.push_back(t);
    const std::uint64_t passed = engine_->counts().passed;
    line_->row_at.resize(line_->row_at.size() + passed - passed_, Timeline::none);
    passed_ = passed;
    run_.place[t] = line_->row_at.size();
    line_->row_at.push_back(t);
    if (!run_.held.empty()) run_.held[t] = answer.held;
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
    }
    if (!answer.target.empty()) take_target(t, answer);
    if (!answer.forecast.empty() && counts) keep_forecast(t, answer);
  }

  // The table shows its target all the same.
  void leave_out(RowKind kind, const Answer& answer) {
    run_.kind[row_] = kind;
    if (!run_.classes)
      std::ranges::copy(answer.target, run_.target.begin() + row_ * n_d_);
    else
      run_.classes->target[row_] = answer.label;
  }

  void take_target(std::size_t t, const Answer& answer) {
    std::ranges::copy(answer.target, run_.target.begin() + t * n_d_);
    if (run_.classes) {
      run_.classes->target[t] = answer.label;
      place_of_class(std::string(answer.label));
    }
    if (!run_.surprise.empty())
      std::ranges::copy(answer.surprise, run_.surprise.begin() + t * n_d_);
    if (!run_.anomaly.empty()) run_.anomaly[t] = answer.anomaly;
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
  void add_probabilities(const Answer& answer) {
    ClassResult& of = *run_.classes;
    const std::size_t first = of.probability.size();
    const std::size_t known = std::min(answer.classes.size(), answer.prediction.size());
    for (std::size_t k = 0; k < known; ++k) {
      const std::size_t place = place_of_class(answer.classes[k]);
      if (of.probability.size() <= first + place) of.probability.resize(first + place + 1, nan);
      of.probability[first + place] = answer.prediction[k];
    }
  }

  std::size_t place_of_class(const std::string& name) {
    std::vector<std::string>& names = run_.classes->names;
    const auto found = std::ranges::find(names, name);
    const auto place = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    return place;
  }

  // The probabilities of row t, and of rows before it that have none, end here.
  void end_row(std::size_t t) {
    run_.classes->begins.resize(t + 2, run_.classes->probability.size());
  }

  void keep_forecast(std::size_t t, Answer answer) {
    const std::size_t numbers = options_.horizon * n_d_;
    answer.forecast = answer.forecast.first(numbers);
    if (!answer.forecast_interval.empty())
      answer.forecast_interval = answer.forecast_interval.first(numbers);
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
  }

  // Of what was said after each row, the step `horizon` after it.
  void score_forecasts(const RowsByKey& rows) {
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
  void shorten() {
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
    shorter(run_.forecast_squared_error, 1);
    KeptForecasts& kept = run_.forecasts;
    for (auto* values : {&kept.value, &kept.low, &kept.high})
      shorter(*values, options_.horizon * n_d_);
    if (!run_.held.empty()) run_.held.resize(rows);
    if (!run_.anomaly.empty()) run_.anomaly.resize(rows);
  }

  const Dataset& data_;
  const EvaluationOptions& options_;
  const Engine* engine_ = nullptr;
  std::size_t n_d_;
  const std::vector<double> levels_;
  RunResult run_;
  WeightRecorder weights_;
  std::vector<Model> models_;
  Model* model_ = nullptr;  // of the row at work
  Timeline* line_ = nullptr;
  std::size_t row_ = 0;
  std::uint64_t passed_ = 0;
  double sum_sq_ = 0;
  std::size_t applied_ = 0;
  std::size_t updates_ = 0;
  std::size_t streak_ = 0;
  std::vector<double> farthest_;  // rows × outputs: forecasts of the last lead
};

/// A stream in memory on its way through a session.
class Evaluation {
 public:
  Evaluation(EngineOptions engine, const Dataset& data, const EvaluationOptions& options)
      : data_(data),
        options_(options),
        schema_(schema_of(data)),
        elapsed_(has_elapsed(schema_)),
        last_(options.steps == 0 ? data.rows() : std::min(options.steps, data.rows())),
        rows_(data, data.rows()),
        recorder_(data, options, schema_, last_),
        engine_(prepared(std::move(engine)), nullptr, {&recorder_}),
        session_(engine_, position_, Session::Header::door) {
    arrival_.sample = &sample_;
    if (options_.only_history) find_futures();
    if (!engine_.options().future.empty() && options_.horizon > 0)
      announced_.assign(rows_.keys(), 0);
  }

  RunResult run(const std::function<void(std::size_t, double)>& on_step) {
    const auto start = std::chrono::steady_clock::now();
    auto label = data_.labels.begin();
    for (std::size_t t = 0; t < last_; ++t) {
      for (; label != data_.labels.end() && label->before <= t; ++label) take_label(*label, t);
      take_row(t);
      if (on_step && t % 16 == 15 && recorder_.scored_rows() > 0)
        on_step(t + 1, recorder_.mean_squared_error());
      if (recorder_.is_sustained()) break;
    }
    if (last_ == data_.rows())
      for (; label != data_.labels.end(); ++label) take_label(*label, last_ - 1);
    for (auto& late : late_) tell_late(late, 0, last_ - 1);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    place_rows_behind();
    RunResult result = recorder_.finish(rows_);
    result.seconds = seconds;
    for (std::string& text : engine_.take_remarks()) result.remarks.push_back(std::move(text));
    see_models(result);
    return result;
  }

  Engine& engine() { return engine_; }

 private:
  std::size_t leads_asked() const {
    return std::min(options_.horizon + options_.delay, ModelOptions::longest_horizon);
  }

  EngineOptions prepared(EngineOptions engine) const {
    engine.schema = schema_;
    const Schema::Field* key = schema_.find(Role::key);
    engine.fields.key = key == nullptr ? "" : key->name;
    engine.hold_missing = options_.hold_missing;
    engine.future = options_.future;
    if (options_.all_known_ahead) engine.future = schema_.names(Role::input);
    engine.is_announced = true;
    engine.max_models = std::numeric_limits<std::size_t>::max();
    engine.model.coverage = options_.coverage;
    engine.model.surprise = options_.surprise || options_.alarm_rate > 0;
    engine.model.alarm_rate = options_.alarm_rate;
    // Leads that are hidden by targets still to come are asked for, too, and left out by the table.
    if (options_.horizon > 0) engine.model.horizon = leads_asked();
    engine.model.warm_up = options_.warm_up;
    engine.model.periods = options_.periods;
    engine.model.max_delay = options_.delay > 0 ? ModelOptions::longest_delay : options_.max_delay;
    return engine;
  }

  using Label = Dataset::Label;

  void take_row(std::size_t t) {
    if (!future_.empty() && future_[t]) return;
    const std::size_t key = rows_.key_of(t);
    recorder_.look_at(engine_, t, key);
    if (!announced_.empty()) announce(t, announced_[key]);
    read_row(data_, t, elapsed_, sample_);
    if (options_.delay == 0) {
      take_sample(t);
    } else {
      if (late_.size() <= key) late_.resize(key + 1);
      std::deque<Label>& late = late_[key];
      sample_.id = std::to_string(t);
      late.push_back({t, sample_.key, sample_.id, std::exchange(sample_.d, {}),
                      std::exchange(sample_.label, {})});
      take_sample(t);
      tell_late(late, options_.delay, t);
    }
    recorder_.end(t);
  }

  // Targets that have been kept back, but for the last few.
  void tell_late(std::deque<Label>& late, std::size_t most, std::size_t t) {
    for (; late.size() > most; late.pop_front())
      if (!late.front().d.empty()) take_label(late.front(), t);
  }

  void take_label(const Label& label, std::size_t t) {
    recorder_.look_at(engine_, t, rows_.find(label.key));
    sample_ = {.kind = Sample::Kind::label, .id = label.id, .key = label.key};
    sample_.d = label.d;
    sample_.label = label.name;
    take_sample(t);
  }

  void take_sample(std::size_t t) {
    position_.line = arrival_.line = data_.lines.empty() ? t + 1 : data_.lines[t];
    session_.take({&arrival_, 1}, AnswerFormat::none);
    session_.learn();
    sample_.kind = Sample::Kind::inputs;
  }

  // The inputs of the rows that come next, as far as forecasts look.
  void announce(std::size_t t, std::size_t& next) {
    const std::vector<std::size_t>& rows = rows_.rows(rows_.key_of(t));
    const std::size_t here = rows_.place_of(t);
    for (; next < std::min(rows.size(), here + leads_asked() + 1); ++next) {
      if (next <= here) continue;
      read_row(data_, rows[next], elapsed_, sample_);
      engine_.announce(sample_, next - here + 1);  // row t is the first
    }
  }

  // Rows behind the last one of their key that has a target.
  void find_futures() {
    std::vector<std::string> labelled;
    for (const Label& label : data_.labels) labelled.push_back(label.key + '\n' + label.id);
    std::ranges::sort(labelled);
    future_.assign(data_.rows(), false);
    for (std::size_t key = 0; key < rows_.keys(); ++key) {
      const std::vector<std::size_t>& rows = rows_.rows(key);
      for (std::size_t k = rows.size(); k-- > 0;) {
        const std::size_t t = rows[k];
        if (all_finite(data_.d(t))) break;
        if (!data_.ids.empty() &&
            std::ranges::binary_search(
                labelled, (data_.keys.empty() ? "" : data_.keys[t]) + '\n' + data_.ids[t]))
          break;
        future_[t] = true;
      }
    }
  }

  // What was forecast of rows that were not taken any more can be scored, too.
  void place_rows_behind() {
    if (options_.horizon == 0) return;
    std::vector<StreamClock> clocks(rows_.keys());
    std::vector<std::size_t> left(rows_.keys(), options_.horizon);
    for (std::size_t t = last_; t < data_.rows(); ++t) {
      const std::size_t key = rows_.key_of(t);
      read_row(data_, t, elapsed_, sample_);
      if (left[key] == 0 || sample_.missing > 0 || key >= recorder_.timelines().size()) continue;
      --left[key];
      std::vector<std::size_t>& row_at = recorder_.timelines()[key].row_at;
      if (sample_.tick && data_.keys.empty()) {
        if (t == last_) clocks[key] = engine_.models()->only()->clock();
        const auto verdict = clocks[key].take(*sample_.tick, sample_.has_moment);
        if (verdict.kind != StreamClock::Kind::next) continue;
        row_at.resize(row_at.size() + verdict.missing, Timeline::none);
      }
      row_at.push_back(t);
    }
  }

  void see_models(RunResult& result) {
    for (Timeline& line : result.timelines)
      if (const StreamModel* model = engine_.model_in_memory(line.key)) line.clock = model->clock();
    const StreamModel* model = data_.keys.empty() ? engine_.models()->only() : nullptr;
    if (model != nullptr) {
      const auto periods = model->learner().periods();
      result.periods.assign(periods.begin(), periods.end());
    }
    if (!result.classes || engine_.scores() == nullptr) return;
    result.classes->scores = *engine_.scores()->classes();
    result.log_loss = result.classes->scores.errors().log_loss;
  }

  const Dataset& data_;
  const EvaluationOptions& options_;
  const Schema schema_;
  const bool elapsed_;  // the last input is the time since the row before
  const std::size_t last_;
  RowsByKey rows_;
  Recorder recorder_;
  Engine engine_;
  RecordPosition position_;
  Session session_;
  Sample sample_;
  Arrival arrival_;
  std::vector<bool> future_;             // of each row, whether it is not taken; empty: none is
  std::vector<std::size_t> announced_;   // of each key, how many rows; empty: none are
  std::vector<std::deque<Label>> late_;  // of each key
};

}  // namespace

std::vector<double> decision_levels(const Dataset& data) {
  std::vector<double> levels(data.n_targets());
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = decision_level(data, k);
  return levels;
}

double target_variance(const Dataset& data, std::size_t steps, bool holds_inputs) {
  return variance_of_targets(
      data.targets, data.n_targets(), std::min(steps, data.rows()), [&](std::size_t t) {
        return (holds_inputs || all_finite(data.x(t))) && all_finite(data.d(t));
      });
}

std::size_t history_of(const Dataset& data) {
  std::size_t rows = data.rows();
  while (rows > 0 && !all_finite(data.d(rows - 1))) --rows;
  return rows;
}

RunResult evaluate(EngineOptions engine, const Dataset& data, const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step,
                   const std::function<void(Engine&)>& finished) {
  Evaluation evaluation(std::move(engine), data, options);
  RunResult result = evaluation.run(on_step);
  if (finished) finished(evaluation.engine());
  return result;
}

RunResult evaluate(CalibratedLearner& learner, const Dataset& data,
                   const EvaluationOptions& options,
                   const std::function<void(std::size_t, double)>& on_step) {
  EngineOptions engine;
  engine.start = std::make_shared<CalibratedLearner>(learner);
  return evaluate(std::move(engine), data, options, on_step, [&](Engine& done) {
    const CalibrationOptions before = learner.calibration();
    if (auto learnt = done.take_learner()) learner = std::move(*learnt);
    learner.recalibrate(before);
  });
}

}  // namespace kalstream
