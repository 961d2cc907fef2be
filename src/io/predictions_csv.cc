#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "core/finite.h"
#include "io/results.h"
#include "lines/csv_field.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

/// All lines of a comparison.
class PredictionsCsv {
 public:
  PredictionsCsv(const Dataset& data, const RunResult& like) : data_(data), like_(like) {}

  void write_header() {
    text("learner,seed,step");
    if (!data_.keys.empty()) text(",key");
    if (!data_.times.empty())
      text(',' + csv_field(data_.time_name.empty() ? "time" : data_.time_name));
    if (!like_.held.empty()) text(",held");
    name("target");
    if (!like_.classes) {
      name_with_bounds("prediction");
    } else {
      text(",prediction,probability");
      for (const std::string& c : like_.classes->names) text(',' + csv_field("probability_" + c));
    }
    if (!like_.surprise.empty()) name("surprise");
    if (like_.alarm_rate > 0) text(",anomaly");
    if (!like_.strangeness.empty()) name("strangeness");
    if (like_.has_alarms) text(",alarm,alarm_severity");
    for (std::size_t h = 1; h <= like_.forecasts.horizon; ++h) {
      if (!data_.times.empty()) text(fmt::format(",forecast_{}_time", h));
      name_with_bounds(fmt::format("forecast_{}", h));
    }
    text("\n");
  }

  void write_run(const std::string& learner, std::uint64_t seed, const RunResult& run) {
    place_alarms(run);
    const std::size_t n_d = data_.n_targets();
    for (std::size_t t = 0; t < run.steps; ++t) {
      text(fmt::format("{},{},{}", learner, seed, t + 1));
      if (!data_.keys.empty()) text(',' + csv_field(data_.keys[t]));
      if (!data_.times.empty()) text(',' + csv_field(data_.times[t]));
      if (!like_.held.empty()) text(fmt::format(",{}", run.held[t]));
      if (run.classes) {
        text(",");
        if (!run.classes->target[t].empty()) text(csv_field(run.classes->target[t]));
        probabilities(*run.classes, t);
      } else {
        numbers(run.target, t * n_d);
        numbers_with_bounds(run.prediction, run.low, run.high, run.inner, t);
      }
      if (!like_.surprise.empty()) numbers(run.surprise, t * n_d);
      if (like_.alarm_rate > 0) anomaly(run, t);
      if (!like_.strangeness.empty()) numbers(run.strangeness, t * n_d);
      if (like_.has_alarms) alarm(t);
      const KeptForecasts& f = run.forecasts;
      if (like_.forecasts.horizon > 0) know_times(run, t);
      for (std::size_t h = 0; h < like_.forecasts.horizon; ++h) {
        if (!data_.times.empty())
          text(',' + (step_ ? csv_field(times_.write(step_->after(data_.ticks[t], h + 1)))
                            : std::string()));
        numbers_with_bounds(f.value, f.low, f.high, f.inner, t * like_.forecasts.horizon + h);
      }
      text("\n");
    }
  }

  std::string take() const { return fmt::to_string(out_); }

 private:
  void text(std::string_view text) { out_.append(text.data(), text.data() + text.size()); }

  // Of the steps after row t.
  void know_times(const RunResult& run, std::size_t t) {
    step_.reset();
    if (data_.times.empty() || run.timelines.size() != 1) return;
    if (run.kind[t] == RowKind::taken && data_.ticks[t] != Dataset::no_moment)
      step_ = run.timelines.front().step_at(t);
    if (step_) times_ = TimeText(data_.times[t], data_.ticks[t], data_.schema.time_form);
  }

  // The most probable class, then all that came in the end: those that had not yet come have none.
  void probabilities(const ClassResult& of, std::size_t t) {
    const auto p = std::span(of.probability).subspan(of.begins[t], of.begins[t + 1] - of.begins[t]);
    const std::vector<std::string>& classes = like_.classes->names;
    std::optional<std::size_t> top;
    for (std::size_t k = 0; k < p.size(); ++k)
      if (!std::isnan(p[k]) && (!top || p[k] > p[*top])) top = k;
    text(',' + (top ? csv_field(classes[*top]) : std::string()));
    text(",");
    if (top) number(p[*top]);
    for (std::size_t k = 0; k < classes.size(); ++k) {
      text(",");
      if (k < p.size()) number(p[k]);
    }
  }

  void number(double v) {
    if (!std::isnan(v)) fmt::format_to(std::back_inserter(out_), "{}", v);
  }

  // One column per target, which is only named where there are several.
  void name(const std::string& what) {
    for (const std::string& target : data_.target_names)
      text(',' + csv_field(data_.n_targets() == 1 ? what : fmt::format("{}_{}", what, target)));
  }
  void name_with_bounds(const std::string& what) {
    name(what);
    if (like_.low.empty()) return;
    name(what + "_low");
    name(what + "_high");
    for (const double coverage : like_.inner_coverages) {
      name(fmt::format("{}_low_{}", what, coverage));
      name(fmt::format("{}_high_{}", what, coverage));
    }
  }

  void numbers(std::span<const double> values, std::size_t first) {
    for (const double v : values.subspan(first, data_.n_targets())) {
      text(",");
      number(v);
    }
  }
  void numbers_with_bounds(std::span<const double> values, std::span<const double> low,
                           std::span<const double> high, std::span<const Interval> inner,
                           std::size_t row) {
    const std::size_t n_d = data_.n_targets();
    numbers(values, row * n_d);
    if (like_.low.empty()) return;
    numbers(low, row * n_d);
    numbers(high, row * n_d);
    const std::size_t levels = like_.inner_coverages.size();
    for (std::size_t i = 0; i < levels; ++i)
      for (double Interval::*const bound : {&Interval::low, &Interval::high})
        for (const Interval& bounds : inner.subspan((row * levels + i) * n_d, n_d)) {
          text(",");
          number(bounds.*bound);
        }
  }

  // Nothing where there is no target.
  void anomaly(const RunResult& run, std::size_t t) {
    text(",");
    const std::size_t n_d = data_.n_targets();
    if (!all_finite(std::span(run.target).subspan(t * n_d, n_d))) return;
    text(run.anomaly[t] ? "1" : "0");
  }

  // The alarm of each row's key that lasts, or none.
  void place_alarms(const RunResult& run) {
    alarm_of_.assign(run.has_alarms ? run.steps : 0, nullptr);
    for (const RunAlarm& a : run.alarms) {
      if (a.start == RunAlarm::none) continue;
      for (std::size_t t = a.start; t < std::min(a.end, run.steps); ++t)
        if (data_.keys.empty() || data_.keys[t] == a.key) alarm_of_[t] = &a.alarm;
    }
  }

  // What is known of it in the end: its kind may have changed while it lasted.
  void alarm(std::size_t t) {
    const AlarmEvent* const of = alarm_of_[t];
    text(",");
    if (of != nullptr) text(to_string(of->kind));
    text(",");
    if (of != nullptr) number(of->severity);
  }

  const Dataset& data_;
  const RunResult& like_;  // all runs have the same columns
  std::optional<TimeStep> step_;
  TimeText times_;
  std::vector<const AlarmEvent*> alarm_of_;  // of each row
  fmt::memory_buffer out_;
};

}  // namespace

std::string predictions_csv(const Dataset& data, const std::vector<Outcome>& outcomes) {
  PredictionsCsv csv(data, outcomes.front().runs.front());
  csv.write_header();
  for (const Outcome& outcome : outcomes)
    for (std::size_t s = 0; s < outcome.seeds.size(); ++s)
      csv.write_run(outcome.name, outcome.seeds[s], outcome.runs[s]);
  return csv.take();
}

}  // namespace kalstream
