#include "eval/outlook.h"

#include <cmath>
#include <limits>

#include "core/finite.h"
#include "eval/backtest.h"
#include "eval/progressive.h"
#include "schema/time_text.h"

namespace kalstream {
namespace {

constexpr double not_there = std::numeric_limits<double>::quiet_NaN();

void keep(Outlook& outlook, std::size_t t, const Forecaster& said) {
  outlook.row = t;
  outlook.value.assign(said.horizon() * said.outputs(), not_there);
  std::copy(said.values().begin(), said.values().end(), outlook.value.begin());
  if (said.bounds().empty()) return;
  outlook.low.assign(outlook.value.size(), not_there);
  outlook.high = outlook.low;
  for (std::size_t k = 0; k < said.bounds().size(); ++k) {
    outlook.low[k] = said.bounds()[k].low;
    outlook.high[k] = said.bounds()[k].high;
  }
}

// Where rows come at no regular times, the next ones are expected after the usual time.
void add_times(Outlook& outlook, const Dataset& data, std::size_t horizon) {
  if (data.times.empty() || !outlook.row) return;
  const std::size_t t = *outlook.row;
  const auto tick = ticks_of(data)[t];
  if (!tick) return;
  const auto step = outlook.timeline.step_at(t);
  const bool irregular = outlook.timeline.clock.is_irregular();
  if (!step && !irregular) return;
  const TimeText text(data.times[t], *tick, data.schema.time_form);
  const double apart = 1e9 * outlook.timeline.clock.elapsed();
  for (std::size_t lead = 1; lead <= horizon; ++lead) {
    const std::int64_t moment = step ? step->after(*tick, static_cast<std::int64_t>(lead))
                                     : *tick + std::llround(apart * static_cast<double>(lead));
    outlook.moments.emplace_back(moment);
    outlook.times.push_back(text.write(moment));
  }
}

// Whether each input that could be known ahead is, at every lead.
bool knows_all(const Timeline& timeline, const Dataset& data, std::size_t t,
               const OutlookOptions& options) {
  for (std::size_t lead = 1; lead <= options.horizon; ++lead) {
    const std::size_t place = timeline.place[t] + lead;
    const std::size_t row =
        place < timeline.row_at.size() ? timeline.row_at[place] : Timeline::none;
    for (std::size_t k = 0; k < options.known_ahead.size(); ++k)
      if (options.known_ahead[k] && (row == Timeline::none || std::isnan(data.x(row)[k])))
        return false;
  }
  return true;
}

}  // namespace

std::size_t history_of(const Dataset& data) {
  std::size_t rows = data.rows();
  while (rows > 0 && !all_finite(data.d(rows - 1))) --rows;
  return rows;
}

Outlook look_ahead(Learner& learner, const Dataset& data, const OutlookOptions& options,
                   const std::function<void(std::size_t)>& on_step) {
  Outlook outlook{.history = history_of(data)};
  outlook.timeline = timeline_of(data, options.known_ahead);
  std::vector<double> periods = outlook.timeline.clock.periods();
  if (options.periods) periods = *options.periods;
  Backtest backtest(data, outlook.history, options.horizon, periods, options.coverage);
  const EvaluationOptions evaluation{
      .steps = outlook.history,
      .horizon = options.horizon,
      .coverage = options.coverage,
      .known_ahead = options.known_ahead,
      .hold_unknown = true,
      .on_forecast =
          [&](const Timeline& timeline, std::size_t t, const Forecaster& said) {
            keep(outlook, t, said);
            if (options.backtest) backtest.add(timeline, t, said);
          },
      .periods = options.periods};
  const RunResult run = evaluate(learner, data, evaluation, [&](std::size_t t, double) {
    if (on_step) on_step(t);
  });
  outlook.nse = run.nse;
  outlook.rmse = run.rmse;
  outlook.periods = run.periods;
  add_times(outlook, data, options.horizon);
  if (outlook.row && !options.known_ahead.empty())
    outlook.held_known = !knows_all(outlook.timeline, data, *outlook.row, options);
  if (!options.backtest) return outlook;
  if (periods.empty() && !options.periods) backtest.add_periods(outlook.timeline, outlook.periods);
  outlook.rivals = backtest.rivals();
  outlook.scores = backtest.scores();
  return outlook;
}

}  // namespace kalstream
