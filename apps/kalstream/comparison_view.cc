#include "comparison_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>

#include "eval/statistics.h"
#include "view/progress.h"

namespace kalstream::cli {
std::vector<Outcome> compare_with_progress(const std::string& label,
                                           const std::vector<Contender>& contenders,
                                           const Dataset& data, const ComparisonOptions& options,
                                           bool show) {
  if (!show) return compare(contenders, data, options);

  const std::size_t rows =
      options.evaluation.steps == 0 ? data.rows() : std::min(options.evaluation.steps, data.rows());
  view::Progress progress(label, rows * contenders.size() * options.seeds.size(), true);
  std::vector<double> latest(contenders.size(), NAN);
  std::mutex mutex;
  return compare(contenders, data, options,
                 [&](std::size_t c, std::size_t, std::size_t steps, double nse) {
                   std::string note;
                   {
                     const std::lock_guard lock(mutex);
                     latest[c] = nse;
                     for (std::size_t k = 0; k < contenders.size(); ++k)
                       if (!std::isnan(latest[k]))
                         note += fmt::format("{}{} {:.3f}", note.empty() ? "NSE " : "  ",
                                             contenders[k].name, latest[k]);
                   }
                   progress.set_note(std::move(note));
                   progress.advance(steps);
                 });
}

std::vector<RunResult> run_jobs_with_progress(const std::string& label,
                                              const std::vector<Job>& jobs, JobsOptions options,
                                              bool show) {
  std::optional<view::Progress> progress;
  options.on_start = [&](double work, std::size_t kept) {
    if (kept > 0 && show)
      fmt::print(stderr, "{} of {} runs were finished before\n", kept, jobs.size());
    progress.emplace(label, static_cast<std::size_t>(work), show && view::is_terminal(stderr));
  };
  options.on_progress = [&](const Job& job, double work) {
    progress->set_note(job.name);
    progress->advance(static_cast<std::size_t>(work));
  };
  return run_jobs(jobs, options);
}

std::string learning_curves(const Dataset& data, const std::vector<Outcome>& outcomes) {
  std::size_t steps = 0;
  for (const Outcome& o : outcomes)
    for (const RunResult& run : o.runs) steps = std::max(steps, run.steps);
  const std::size_t window = std::clamp<std::size_t>(steps / 15, 1, 1000);
  const double scale = target_variance(data, steps) * static_cast<double>(data.n_targets());

  view::Panel panel{.x_label = "samples seen", .y_label = "NSE", .y_scale = view::Scale::log};
  for (const Outcome& o : outcomes) {
    // The line ends with the shortest run: a median over those that happen to be left misleads.
    std::size_t shortest = steps;
    for (const RunResult& run : o.runs) shortest = std::min(shortest, run.steps);
    // Each run is smoothed first: quantiles of single squared errors would say little.
    std::vector<std::vector<double>> smooth;
    for (const RunResult& run : o.runs) {
      smooth.push_back(moving_average(std::span(run.squared_error).first(shortest), window));
      for (double& v : smooth.back()) v /= scale;
      // The mean of a handful of samples is no curve yet.
      std::fill_n(smooth.back().begin(), std::min(window / 4, smooth.back().size()), NAN);
    }
    const std::vector<std::span<const double>> runs(smooth.begin(), smooth.end());
    view::Series series{.name = o.name, .x = {}, .y = quantile_over_runs(runs, 0.5)};
    if (runs.size() >= 3) {
      series.low = quantile_over_runs(runs, 0.05);
      series.high = quantile_over_runs(runs, 0.95);
    }
    panel.series.push_back(std::move(series));
  }
  const std::size_t seeds = outcomes.front().seeds.size();
  const std::string over = seeds == 1 ? ""
                                      : fmt::format("median of {} seeds{}, ", seeds,
                                                    seeds < 3 ? "" : " and 5–95 % band");
  return view::line_chart(
      {panel},
      {.title = fmt::format("Online learning on {}", data.name),
       .subtitle = fmt::format("error before each sample is learnt; {}mean of the last {} samples",
                               over, window),
       .description = "Normalised squared error against samples seen, one line per learner"});
}

namespace {

// One line per expert, those with the largest mean |weight| first; the others as one.
std::vector<view::Series> weight_series(const std::vector<std::string>& names,
                                        const WeightPath& path) {
  constexpr std::size_t shown = 8;  // as many as there are colours
  const std::size_t n = names.size();
  const std::vector<double> x(path.rows.begin(), path.rows.end());
  std::vector<double> size(n, 0.0);
  for (std::size_t k = 0; k < path.weights.size(); ++k) size[k % n] += std::abs(path.weights[k]);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t j) { return size[j]; });

  std::vector<view::Series> lines;
  for (std::size_t place = 0; place < n; ++place) {
    const std::size_t j = order[place];
    if (place <= shown)
      lines.push_back({.name = names[j], .x = x, .y = std::vector(x.size(), 0.0)});
    for (std::size_t t = 0; t < x.size(); ++t) lines.back().y[t] += path.weights[t * n + j];
  }
  if (n > shown) lines.back().grey = true;
  if (n > shown + 1) lines.back().name = fmt::format("{} others", n - shown);
  if (n > shown) std::rotate(lines.begin(), lines.end() - 1, lines.end());  // below the others
  return lines;
}

}  // namespace

std::string weight_curves(const Dataset& data, const std::vector<Contender>& contenders,
                          const std::vector<Outcome>& outcomes) {
  std::vector<view::Panel> panels;
  for (std::size_t c = 0; c < outcomes.size(); ++c) {
    const auto names = expert_names(options_on(contenders[c], data));
    if (names.empty()) continue;
    panels.push_back({.title = outcomes[c].name,
                      .x_label = "samples seen",
                      .y_label = "weight",
                      .series = weight_series(names, outcomes[c].runs.front().weight_path),
                      .direct_labels = true});
  }
  return view::line_chart(
      panels, {.title = fmt::format("What the experts count on {}", data.name),
               .subtitle = fmt::format(
                   "weights, together 1, of seed {}; below zero, an expert's prediction "
                   "is subtracted to correct others",
                   outcomes.front().seeds.front()),
               .description = "Weights of the experts of each mixture against samples seen",
               .width = 860,
               .columns = 1});
}

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
