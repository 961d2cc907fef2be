#include "eval/outlook.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "schema/timestamp.h"

namespace kalstream {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Where rows come at no regular times, the next ones are expected after the usual time.
void add_times(Outlook& outlook, const Dataset& data, std::size_t horizon) {
  if (data.times.empty()) return;
  const std::size_t t = *outlook.row;
  const std::int64_t tick = data.ticks[t];
  if (tick == Dataset::no_moment) return;
  const auto step = outlook.timeline.step_at(t);
  if (!step && !outlook.timeline.clock.is_irregular()) return;
  const TimeText text(data.times[t], tick, data.schema.time_form);
  const double apart = 1e9 * outlook.timeline.clock.elapsed();
  for (std::size_t lead = 1; lead <= horizon; ++lead) {
    const std::int64_t moment = step ? step->after(tick, static_cast<std::int64_t>(lead))
                                     : tick + std::llround(apart * static_cast<double>(lead));
    outlook.moments.push_back(moment);
    outlook.times.push_back(text.write(moment));
  }
}

}  // namespace

Answer Outlooks::Held::within(const Answer& answer) {
  if (!(floor > -infinity) && !(ceiling < infinity)) return answer;
  const auto hold = [this](double v) { return std::isnan(v) ? v : std::clamp(v, floor, ceiling); };
  const auto hold_all = [&](std::span<const Interval> from, std::vector<Interval>& to) {
    to.assign(from.begin(), from.end());
    for (Interval& one : to) one = {hold(one.low), hold(one.high)};
  };
  values.assign(answer.forecast.begin(), answer.forecast.end());
  for (double& v : values) v = hold(v);
  hold_all(answer.forecast_interval, bounds);
  hold_all(answer.forecast_inner, inner);
  Answer held = answer;
  held.forecast = values;
  held.forecast_interval = bounds;
  held.forecast_inner = inner;
  return held;
}

Outlooks::Outlooks(const Dataset& data, EvaluationOptions& evaluation, bool backtest)
    : data_(data),
      evaluation_(evaluation),
      held_{evaluation.floor, evaluation.ceiling, {}, {}, {}} {
  evaluation.only_history = true;
  evaluation.on_forecast = [this](const Timeline& line, std::size_t t, const Answer& answer) {
    const Answer said = held_.within(answer);
    Last& last = last_[line.key];
    Outlook& o = last.outlook;
    o.row = t;
    ++o.history;
    o.value.assign(said.forecast.begin(), said.forecast.end());
    o.low.clear();
    o.high.clear();
    for (const Interval& bounds : said.forecast_interval) {
      o.low.push_back(bounds.low);
      o.high.push_back(bounds.high);
    }
    o.inner.assign(said.forecast_inner.begin(), said.forecast_inner.end());
    if (last.backtest) last.backtest->add_forecast(line.row_at.size() - 1, t, said);
  };
  if (!backtest) return;
  std::unordered_map<std::string, std::size_t> rows;
  for (const std::string& key : data.keys) ++rows[key];
  const std::size_t late = data.labels.empty() ? evaluation.delay : evaluation.max_delay;
  for (const auto& [key, line] : clocks_of(data)) {
    Last& last = last_[key];
    const auto periods = evaluation.periods ? *evaluation.periods : line.clock.periods();
    last.finds_periods = periods.empty() && !evaluation.periods;
    last.backtest.emplace(data.keys.empty() ? history_of(data) : rows[key], data.n_targets(),
                          evaluation.horizon, late, periods, evaluation.coverage);
  }
  evaluation.on_target = [this](const Timeline& line, std::size_t place,
                                std::span<const double> d) {
    last_[line.key].backtest->add_target(place, d);
  };
}

std::vector<Outlook> Outlooks::take(const RunResult& run) {
  std::vector<Outlook> outlooks;
  for (const Timeline& line : run.timelines) {
    Last& last = last_[line.key];
    Outlook& o = last.outlook;
    o.key = line.key;
    o.timeline = line;
    o.nse = run.nse;
    o.rmse = run.rmse;
    if (data_.keys.empty()) {
      o.history = history_of(data_);
      o.periods = run.periods;
    }
    if (o.row) add_times(o, data_, evaluation_.horizon);
    if (last.backtest) {
      if (last.finds_periods) last.backtest->add_periods(o.periods);
      o.rivals = last.backtest->rivals();
      o.scores = last.backtest->scores();
    }
    outlooks.push_back(std::move(o));
  }
  return outlooks;
}

}  // namespace kalstream
