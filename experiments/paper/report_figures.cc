// The figures that go with Table 1.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "eval/statistics.h"
#include "io/results.h"
#include "kalstream/version.h"
#include "paper/report_parts.h"
#include "view/chart.h"

namespace kalstream::paper {
namespace {

constexpr std::size_t smoothing = 100;
constexpr std::size_t first_shown = 25;  // before it, a mean of single errors

std::string learning_curves(const Table1& t) {
  std::vector<view::Panel> panels;
  for (const Table1Stream& s : t.streams) {
    if (s.rows.empty()) continue;
    view::Panel panel{.title = s.stream.label,
                      .x_label = "step",
                      .y_label = "median NSE",
                      .y_scale = view::Scale::log};
    for (const Table1Row& row : s.rows) {
      if (!as_published(row)) continue;
      std::vector<std::span<const double>> runs;
      for (const RunResult& run : row.outcome.runs)
        runs.push_back(std::span(run.squared_error).subspan(published_warm_up));
      const std::vector<double> curve = moving_average(quantile_over_runs(runs, 0.5), smoothing);
      view::Series series{.name = std::string(row.variant->label)};
      for (std::size_t k = first_shown - 1; k < curve.size(); ++k) {
        series.x.push_back(static_cast<double>(k + 1));
        series.y.push_back(curve[k] / row.outcome.runs.front().target_variance);
      }
      panel.series.push_back(std::move(series));
    }
    panels.push_back(std::move(panel));
  }
  return view::line_chart(
      panels,
      {.title = "Median squared error over time",
       .subtitle = fmt::format(
           "median over {} seeds at each step, over the variance of the target; mean of the "
           "last {} steps; log scale",
           t.seeds.size(), smoothing)});
}

std::string run_time_chart(const Table1& t) {
  view::BarPanel panel{.x_label = "seconds a run, mean over streams; log scale"};
  for (const Variant& v : variants()) {
    if (!v.table1 || v.learner.empty()) continue;
    std::vector<double> measured;
    std::vector<double> published;
    for (const Table1Stream& s : t.streams)
      if (const Table1Row* row = find_row(s, v.key)) {
        measured.push_back(row->summary.seconds);
        published.push_back(row->published->seconds);
      }
    if (measured.empty()) continue;
    panel.groups.push_back({std::string(v.label),
                            {{.name = "published (MATLAB, i7-7500U)", .value = mean(published)},
                             {.name = "kalstream", .value = mean(measured)}}});
  }
  return view::bar_chart(
      panel, {.title = "Run-time",
              .subtitle = fmt::format("kalstream {} on {}", version(), machine_name())});
}

}  // namespace

void add_figures(const Table1& t, view::Document& doc) {
  if (std::all_of(t.streams.begin(), t.streams.end(), [](const auto& s) { return s.rows.empty(); }))
    return;
  doc.heading("Figures");
  doc.figure(
      "learning-curves", learning_curves(t),
      fmt::format("Median NSE over time (Figures 1 and 2 of the paper): at each step the median "
                  "over {} seeds, then the mean of the last {} steps.",
                  t.seeds.size(), smoothing));
  doc.figure("run-time", run_time_chart(t),
             "Published and measured run-times. The machines differ, so compare learners within a "
             "colour; the distance between the colours is machine and implementation together.");
}

}  // namespace kalstream::paper
