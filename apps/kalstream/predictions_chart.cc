#include "predictions_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "view/chart.h"

namespace kalstream::cli {
namespace {

constexpr std::size_t most_panels = 6;

view::Panel panel_of(const Dataset& data, const Outcome& outcome, std::size_t k, std::size_t rows) {
  const RunResult& run = outcome.runs.front();
  const std::size_t n_d = data.n_targets();
  const std::string& name = data.target_names[k];
  view::Series target{.name = "target", .dots = true};
  view::Series prediction{.name = outcome.name};
  for (std::size_t t = run.steps - std::min(rows, run.steps); t < run.steps; ++t) {
    const auto row = static_cast<double>(t + 1);
    target.x.push_back(row);
    target.y.push_back(run.target[t * n_d + k]);
    prediction.x.push_back(row);
    prediction.y.push_back(run.prediction[t * n_d + k]);
    if (run.low.empty()) continue;
    prediction.low.push_back(run.low[t * n_d + k]);
    prediction.high.push_back(run.high[t * n_d + k]);
  }
  view::Panel panel{
      .x_label = "row", .y_label = name, .series = {std::move(prediction), std::move(target)}};
  limit_axis(panel, 0.5);
  return panel;
}

// "2026-01-01 to 2026-03-01; " where rows have times and all runs end with the same one.
std::string period(const Dataset& data, const std::vector<Outcome>& outcomes, std::size_t rows) {
  const std::size_t steps = outcomes.front().runs.front().steps;
  if (data.times.empty() || steps == 0) return {};
  for (const Outcome& o : outcomes)
    if (o.runs.front().steps != steps) return {};
  return fmt::format("{} to {}; ", data.times[steps - std::min(rows, steps)],
                     data.times[steps - 1]);
}

}  // namespace

void limit_axis(view::Panel& panel, double share) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const view::Series& series : panel.series)
    for (const double y : series.y) {
      low = std::fmin(low, y);
      high = std::fmax(high, y);
    }
  const double room = share * (high - low);
  if (!(room > 0)) return;
  for (const view::Series& series : panel.series) {
    for (const double y : series.low)
      if (y < low - room) panel.y_low = low - room;
    for (const double y : series.high)
      if (y > high + room) panel.y_high = high + room;
  }
}

std::string predictions_chart(const Dataset& data, const std::vector<Outcome>& outcomes,
                              std::size_t rows, double coverage) {
  std::vector<view::Panel> panels;
  for (const Outcome& outcome : outcomes)
    for (std::size_t k = 0; k < data.n_targets() && panels.size() < most_panels; ++k) {
      panels.push_back(panel_of(data, outcome, k, rows));
      if (outcomes.size() > 1 && k == 0) panels.back().title = outcome.name;
    }
  const std::string bounds =
      coverage > 0 ? fmt::format("; the band is to hold {:.4g} % of the targets", 100 * coverage)
                   : "";
  return view::line_chart(
      panels, {.title = fmt::format("Predictions of {}", data.name),
               .subtitle = fmt::format("{}each made before its target was used{}",
                                       period(data, outcomes, rows), bounds),
               .description = "Target and prediction against the row, one panel per learner and "
                              "target",
               .width = 860,
               .columns = 1,
               .plot_height = panels.size() == 1 ? 320.0 : 170.0});
}

}  // namespace kalstream::cli
