#include "comparison_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "core/finite.h"
#include "eval/statistics.h"
#include "view/chart.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using view::Align;
using view::Cell;

std::string number(double v) {
  return v < 1000 ? fmt::format("{:.4f}", v) : view::format_number(v, 4);
}

// NaN is never the lowest.
double lowest(const std::vector<Summary>& rows, double Summary::*field) {
  double low = INFINITY;
  for (const Summary& s : rows) low = std::fmin(low, s.*field);
  return low;
}

Cell marked(double v, double low, std::string text) {
  return {std::move(text), std::isfinite(v) && v <= low};
}

}  // namespace

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

std::string comparison_table(const std::vector<Outcome>& outcomes, const TableColumns& columns) {
  std::vector<Summary> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(summarise(outcome));
  const bool forecasts = std::any_of(rows.begin(), rows.end(),
                                     [](const Summary& s) { return !std::isnan(s.knse_mean); });
  const bool several =
      std::any_of(rows.begin(), rows.end(), [](const Summary& s) { return s.seeds > 1; });

  std::vector<view::Column> header{{"learner", Align::left}, {several ? "NSE mean" : "NSE"}};
  if (several) header.push_back({"5–95 %"});
  if (forecasts) header.push_back({"kNSE"});
  if (columns.sustained) header.push_back({"sustained at"});
  header.insert(header.end(), {{"updates"}, {"µs/step"}});

  view::Table table(header);
  const double best_nse = lowest(rows, &Summary::nse_mean);
  const double best_knse = lowest(rows, &Summary::knse_mean);
  const double best_time = lowest(rows, &Summary::us_per_step);
  for (const Summary& s : rows) {
    std::vector<Cell> cells{s.learner, marked(s.nse_mean, best_nse, number(s.nse_mean))};
    if (several) cells.emplace_back(fmt::format("{} – {}", number(s.nse_p05), number(s.nse_p95)));
    if (forecasts) cells.push_back(marked(s.knse_mean, best_knse, number(s.knse_mean)));
    if (columns.sustained)
      cells.emplace_back(
          std::isfinite(s.sustained_median) ? fmt::format("{:.0f}", s.sustained_median) : "never");
    cells.emplace_back(fmt::format("{:.1f} %", 100 * s.update_fraction));
    cells.push_back(marked(s.us_per_step, best_time, view::format_number(s.us_per_step, 3)));
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
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
  for (std::size_t j = 0; j < n; ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });

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

std::string remarks(const Dataset& data, const std::vector<Outcome>& outcomes,
                    std::size_t horizon) {
  std::string text;
  // One line if all runs agree on how many rows, else one per learner with the most of its runs.
  const auto rows = [&](std::size_t RunResult::*count, const char* what, const auto& is_one) {
    const auto most = [&](const Outcome& o) {
      std::size_t n = 0;
      for (const RunResult& run : o.runs) n = std::max(n, run.*count);
      return n;
    };
    bool agree = true;
    for (const Outcome& o : outcomes)
      for (const RunResult& run : o.runs) agree &= run.*count == most(outcomes.front());
    for (const Outcome& o : outcomes) {
      if (most(o) == 0) continue;
      const RunResult& run = o.runs.front();
      std::size_t t = 0;
      while (t < run.steps && !is_one(run, t)) ++t;
      const std::string first =
          t == run.steps       ? ""
          : data.lines.empty() ? fmt::format(" (the first: row {})", t + 1)
                               : fmt::format(" (the first: {}:{})", data.source, data.lines[t]);
      text +=
          fmt::format("{}{} rows {}{}\n", agree ? "" : o.name + ": up to ", most(o), what, first);
      if (agree) break;
    }
  };
  const auto no_prediction = [&](const RunResult& run, std::size_t t) {
    return std::isnan(run.prediction[t * data.n_targets()]);
  };
  rows(&RunResult::skipped_rows, "with a missing or unusable input were skipped, not learnt from",
       no_prediction);
  rows(&RunResult::missing_targets,
       "without a target were passed through, neither scored nor learnt from",
       [&](const RunResult& run, std::size_t t) {
         return !no_prediction(run, t) && !all_finite(data.d(t));
       });
  for (const Outcome& outcome : outcomes) {
    const Summary s = summarise(outcome);
    if (s.rejected_updates > 0)
      text += fmt::format(
          "{}: {} updates were rejected because they would have made a weight or covariance "
          "unusable\n",
          outcome.name, s.rejected_updates);
    if (horizon > 0 && std::isnan(s.knse_mean))
      text += fmt::format("{}: no row has one {} rows after it, so there is no kNSE\n",
                          outcome.name, horizon);
  }
  return text;
}

}  // namespace kalstream::cli
