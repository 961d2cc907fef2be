#include "eval/progressive.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "core/finite.h"
#include "engine/engine.h"
#include "eval/run_table.h"
#include "eval/statistics.h"
#include "schema/future.h"
#include "session/session.h"

namespace kalstream {
namespace {

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
  if (two_values && low < high) return std::midpoint(low, high);
  return std::numeric_limits<double>::quiet_NaN();
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
    if (std::string text = remark_on_order(data_); !text.empty())
      result.remarks.push_back(std::move(text));
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
    engine.missing = options_.missing;
    engine.future = options_.future;
    if (options_.all_known_ahead) engine.future = schema_.names(Role::input);
    engine.is_announced = true;
    engine.max_models = std::numeric_limits<std::size_t>::max();
    engine.model.coverage = options_.coverage;
    engine.model.inner = options_.inner;
    engine.model.surprise =
        options_.surprise || options_.alarms.strangeness || options_.alarm_rate > 0;
    engine.model.alarms = options_.alarms;
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
      const bool is_refused =
          sample_.missing > 0 && engine_.options().missing == MissingInputs::refuse;
      if (left[key] == 0 || is_refused || key >= recorder_.timelines().size()) continue;
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
  RunTable recorder_;
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
