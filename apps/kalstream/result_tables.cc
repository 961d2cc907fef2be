#include "result_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/finite.h"
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

void add_bounds(std::vector<Cell>& cells, const BoundsScore& bounds) {
  cells.emplace_back(fmt::format("{:.1f} %", 100 * bounds.coverage));
  cells.emplace_back(view::format_number(bounds.mean_width, 4));
  cells.emplace_back(view::format_number(bounds.median_width, 4));
}

}  // namespace

std::string comparison_table(const std::vector<Outcome>& outcomes, const TableColumns& columns) {
  std::vector<Summary> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(summarise(outcome));
  const bool forecasts = std::any_of(rows.begin(), rows.end(),
                                     [](const Summary& s) { return !std::isnan(s.knse_mean); });
  const bool bounds = std::any_of(rows.begin(), rows.end(),
                                  [](const Summary& s) { return !std::isnan(s.bounds.coverage); });
  const bool several =
      std::any_of(rows.begin(), rows.end(), [](const Summary& s) { return s.seeds > 1; });

  std::vector<view::Column> header{{"learner", Align::left}, {several ? "NSE mean" : "NSE"}};
  if (several) header.push_back({"5–95 %"});
  header.insert(header.end(), {{"RMSE"}, {"MAE"}});
  if (forecasts) header.push_back({"kNSE"});
  if (bounds) header.insert(header.end(), {{"coverage"}, {"mean width"}, {"median width"}});
  if (columns.sustained) header.push_back({"sustained at"});
  header.insert(header.end(), {{"updates"}, {"µs/step"}});

  view::Table table(header);
  const double best_nse = lowest(rows, &Summary::nse_mean);
  const double best_rmse = lowest(rows, &Summary::rmse_mean);
  const double best_mae = lowest(rows, &Summary::mae_mean);
  const double best_knse = lowest(rows, &Summary::knse_mean);
  const double best_time = lowest(rows, &Summary::us_per_step);
  for (const Summary& s : rows) {
    std::vector<Cell> cells{s.learner, marked(s.nse_mean, best_nse, number(s.nse_mean))};
    if (several) cells.emplace_back(fmt::format("{} – {}", number(s.nse_p05), number(s.nse_p95)));
    cells.push_back(marked(s.rmse_mean, best_rmse, view::format_number(s.rmse_mean, 4)));
    cells.push_back(marked(s.mae_mean, best_mae, view::format_number(s.mae_mean, 4)));
    if (forecasts) cells.push_back(marked(s.knse_mean, best_knse, number(s.knse_mean)));
    if (bounds) add_bounds(cells, s.bounds);
    if (columns.sustained)
      cells.emplace_back(
          std::isfinite(s.sustained_median) ? fmt::format("{:.0f}", s.sustained_median) : "never");
    cells.emplace_back(fmt::format("{:.1f} %", 100 * s.update_fraction));
    cells.push_back(marked(s.us_per_step, best_time, view::format_number(s.us_per_step, 3)));
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
}

std::string target_table(const Dataset& data, const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<TargetScore>> scores;
  bool bounds = false;
  for (const Outcome& outcome : outcomes) {
    scores.push_back(summarise_targets(outcome));
    for (const TargetScore& s : scores.back()) bounds |= !std::isnan(s.bounds.coverage);
  }
  std::vector<view::Column> header{
      {"target", Align::left}, {"learner", Align::left}, {"NSE"}, {"RMSE"}, {"MAE"}};
  if (bounds) header.insert(header.end(), {{"coverage"}, {"mean width"}, {"median width"}});
  view::Table table(header);
  for (std::size_t k = 0; k < data.n_targets(); ++k)
    for (std::size_t c = 0; c < outcomes.size(); ++c) {
      const TargetScore& s = scores[c][k];
      std::vector<Cell> cells{c == 0 ? data.target_names[k] : "", outcomes[c].name, number(s.nse),
                              view::format_number(s.rmse, 4), view::format_number(s.mae, 4)};
      if (bounds) add_bounds(cells, s.bounds);
      table.add_row(std::move(cells));
    }
  return table.to_text(view::is_terminal(stdout));
}

std::string class_table(const std::vector<Outcome>& outcomes) {
  view::Table table({{"learner", Align::left},
                     {"log loss"},
                     {"accuracy"},
                     {"kappa"},
                     {"AUC"},
                     {"F1"},
                     {"calibration error"},
                     {"µs/step"}});
  for (const Outcome& outcome : outcomes) {
    const ClassErrors e = outcome.runs.front().classes->scores.errors();
    std::vector<Cell> cells{outcome.name};
    for (const double v : {e.log_loss, e.accuracy, e.kappa, e.auc, e.f1, e.calibration})
      cells.emplace_back(view::format_number(v, 4));
    cells.emplace_back(view::format_number(summarise(outcome).us_per_step, 3));
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
}

std::string reliability_table(const ClassResult& classes) {
  view::Table table({{"confidence"}, {"rows"}, {"mean confidence"}, {"right"}});
  const auto bins = classes.scores.reliability();
  for (std::size_t k = 0; k < bins.size(); ++k)
    if (bins[k].count > 0)
      table.add_row({fmt::format("{:.1f}..{:.1f}", 0.1 * static_cast<double>(k),
                                 0.1 * static_cast<double>(k + 1)),
                     std::to_string(bins[k].count), view::format_number(bins[k].confidence, 4),
                     view::format_number(bins[k].accuracy, 4)});
  return table.to_text();
}

std::string place_of_row(const Dataset& data, std::size_t row) {
  return data.lines.empty() ? fmt::format("row {}", row + 1)
                            : fmt::format("{}:{}", data.source, data.lines[row]);
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
          t == run.steps ? "" : fmt::format(" (the first: {})", place_of_row(data, t));
      text +=
          fmt::format("{}{} rows {}{}\n", agree ? "" : o.name + ": up to ", most(o), what, first);
      if (agree) break;
    }
  };
  const auto is_taken = [](const RunResult& run, std::size_t t) {
    return run.kind[t] == RowKind::taken;
  };
  rows(&RunResult::skipped_rows, "with a missing or unusable input were skipped, not learnt from",
       [&](const RunResult& run, std::size_t t) { return run.kind[t] == RowKind::skipped; });
  rows(&RunResult::missing_targets,
       "without a target were passed through, neither scored nor learnt from",
       [&](const RunResult& run, std::size_t t) {
         const std::size_t n_d = data.n_targets();
         return is_taken(run, t) && !all_finite(std::span(run.target).subspan(t * n_d, n_d));
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
