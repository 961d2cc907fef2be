#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>

#include "core/finite.h"
#include "io/results.h"
#include "kalstream/surprise.h"
#include "lines/csv_field.h"
#include "schema/time_text.h"

namespace kalstream {
namespace {

/// All lines of a comparison.
class PredictionsCsv {
 public:
  PredictionsCsv(const Dataset& data, std::span<const std::size_t> held, const RunResult& like,
                 const Timeline* timeline)
      : data_(data),
        held_(held),
        timeline_(data.times.empty() ? nullptr : timeline),
        horizon_(like.forecasts.horizon),
        bounds_(!like.low.empty()),
        surprise_(!like.surprise.empty()),
        alarm_rate_(like.alarm_rate) {}

  void write_header() {
    text("learner,seed,step");
    if (!data_.times.empty())
      text(',' + csv_field(data_.time_name.empty() ? "time" : data_.time_name));
    if (!held_.empty()) text(",held");
    name("target");
    name_with_bounds("prediction");
    if (surprise_) name("surprise");
    if (alarm_rate_ > 0) text(",anomaly");
    for (std::size_t h = 1; h <= horizon_; ++h) {
      if (timeline_ != nullptr) text(fmt::format(",forecast_{}_time", h));
      name_with_bounds(fmt::format("forecast_{}", h));
    }
    text("\n");
  }

  void write_run(const std::string& learner, std::uint64_t seed, const RunResult& run) {
    const std::size_t n_d = data_.n_targets();
    for (std::size_t t = 0; t < run.steps; ++t) {
      text(fmt::format("{},{},{}", learner, seed, t + 1));
      if (!data_.times.empty()) text(',' + csv_field(data_.times[t]));
      if (!held_.empty()) text(fmt::format(",{}", held_[t]));
      numbers(data_.targets, t * n_d);
      numbers_with_bounds(run.prediction, run.low, run.high, t * n_d);
      if (surprise_) numbers(run.surprise, t * n_d);
      if (alarm_rate_ > 0) anomaly(run, t);
      const KeptForecasts& f = run.forecasts;
      if (timeline_ != nullptr && horizon_ > 0) know_times(t);
      for (std::size_t h = 0; h < horizon_; ++h) {
        if (timeline_ != nullptr)
          text(',' + (step_ ? csv_field(times_.write(step_->after(data_.ticks[t], h + 1)))
                            : std::string()));
        numbers_with_bounds(f.value, f.low, f.high, (t * horizon_ + h) * n_d);
      }
      text("\n");
    }
  }

  std::string take() const { return fmt::to_string(out_); }

 private:
  void text(std::string_view text) { out_.append(text.data(), text.data() + text.size()); }

  // Of the steps after row t.
  void know_times(std::size_t t) {
    const bool taken = timeline_->kind[t] == Timeline::Row::taken;
    const bool dated = data_.ticks[t] != Dataset::no_moment;
    step_ = taken && dated ? timeline_->step_at(t) : std::nullopt;
    if (step_) times_ = TimeText(data_.times[t], data_.ticks[t], data_.schema.time_form);
  }

  // One column per target, which is only named where there are several.
  void name(const std::string& what) {
    for (const std::string& target : data_.target_names)
      text(',' + csv_field(data_.n_targets() == 1 ? what : fmt::format("{}_{}", what, target)));
  }
  void name_with_bounds(const std::string& what) {
    name(what);
    if (!bounds_) return;
    name(what + "_low");
    name(what + "_high");
  }

  void numbers(std::span<const double> values, std::size_t first) {
    for (const double v : values.subspan(first, data_.n_targets())) {
      text(",");
      if (!std::isnan(v)) fmt::format_to(std::back_inserter(out_), "{}", v);
    }
  }
  void numbers_with_bounds(std::span<const double> values, std::span<const double> low,
                           std::span<const double> high, std::size_t first) {
    numbers(values, first);
    if (!bounds_) return;
    numbers(low, first);
    numbers(high, first);
  }

  // Nothing where there is no target.
  void anomaly(const RunResult& run, std::size_t t) {
    text(",");
    if (!all_finite(data_.d(t))) return;
    const std::size_t n_d = data_.n_targets();
    const auto surprise = std::span(run.surprise).subspan(t * n_d, n_d);
    text(Surprise::is_anomaly(surprise, alarm_rate_) ? "1" : "0");
  }

  const Dataset& data_;
  std::span<const std::size_t> held_;
  const Timeline* timeline_;  // nullptr: there are no times
  std::optional<TimeStep> step_;
  TimeText times_;
  std::size_t horizon_;
  bool bounds_;
  bool surprise_;
  double alarm_rate_;
  fmt::memory_buffer out_;
};

}  // namespace

std::string predictions_csv(const Dataset& data, std::span<const std::size_t> held,
                            const std::vector<Outcome>& outcomes, const Timeline* timeline) {
  PredictionsCsv csv(data, held, outcomes.front().runs.front(), timeline);
  csv.write_header();
  for (const Outcome& outcome : outcomes)
    for (std::size_t s = 0; s < outcome.seeds.size(); ++s)
      csv.write_run(outcome.name, outcome.seeds[s], outcome.runs[s]);
  return csv.take();
}

}  // namespace kalstream
