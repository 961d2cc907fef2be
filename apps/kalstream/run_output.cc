#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "commands.h"
#include "comparison_view.h"
#include "core/finite.h"
#include "io/results.h"
#include "kalstream/settings.h"
#include "run.h"
#include "schema/rules.h"
#include "stream_summary.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

using view::Align;
using view::Cell;
using view::format_number;
using view::plural;

std::string number(double v) { return v < 1000 ? fmt::format("{:.4f}", v) : format_number(v); }

void add_bounds(std::vector<Cell>& cells, const BoundsScore& bounds) {
  cells.emplace_back(fmt::format("{:.1f} %", 100 * bounds.coverage));
  cells.emplace_back(format_number(bounds.mean_width));
  cells.emplace_back(format_number(bounds.median_width));
}

// One row per learner and target.
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
                              format_number(s.rmse), format_number(s.mae)};
      if (bounds) add_bounds(cells, s.bounds);
      table.add_row(std::move(cells));
    }
  return table.to_text(view::is_terminal(stdout));
}

// Of targets that are classes: one row per learner, of the first seed.
std::string class_table(const std::vector<Outcome>& outcomes) {
  view::Table table(view::columns(
      {"learner"}, {"log loss", "accuracy", "kappa", "AUC", "F1", "calibration error", "µs/step"}));
  for (const Outcome& outcome : outcomes) {
    const ClassErrors e = outcome.runs.front().classes->scores.errors();
    std::vector<Cell> cells{outcome.name};
    for (const double v : {e.log_loss, e.accuracy, e.kappa, e.auc, e.f1, e.calibration})
      cells.emplace_back(format_number(v));
    cells.emplace_back(format_number(summarise(outcome).us_per_step, 3));
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
}

// How often the most probable class was right, by how probable it was.
std::string reliability_table(const ClassResult& classes) {
  view::Table table({{"confidence"}, {"rows"}, {"mean confidence"}, {"right"}});
  const auto bins = classes.scores.reliability();
  for (std::size_t k = 0; k < bins.size(); ++k)
    if (bins[k].count > 0)
      table.add_row({fmt::format("{:.1f}..{:.1f}", 0.1 * static_cast<double>(k),
                                 0.1 * static_cast<double>(k + 1)),
                     std::to_string(bins[k].count), format_number(bins[k].confidence),
                     format_number(bins[k].accuracy)});
  return table.to_text();
}

// "d.csv:52", or "row 52" of a stream without lines; rows count from 0.
std::string place_of_row(const Dataset& data, std::size_t row) {
  return data.lines.empty() ? fmt::format("row {}", row + 1)
                            : fmt::format("{}:{}", data.source, data.lines[row]);
}

// Rows left out, updates rejected.
std::string remarks_on_outcomes(const Dataset& data, const std::vector<Outcome>& outcomes,
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
  rows(&RunResult::rows_with_gaps, "lack inputs, and were predicted and learnt from without them",
       [&](const RunResult& run, std::size_t t) {
         return is_taken(run, t) && !all_finite(data.x(t));
       });
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

// The first run's fields and times; the step is in the report, what is unusual is told here.
std::string remarks_on_rows(const RunReport& r) {
  const RunResult& first = r.outcomes.front().runs.front();
  std::string text;
  for (const std::string& remark : kalstream::remarks(r.data.schema)) text += remark + "\n";
  if (!r.remark.empty()) text += r.remark + "\n";
  constexpr std::size_t most = 5;
  std::size_t told = 0;
  for (const std::string& remark : first.remarks) {
    const bool is_step = remark.find("the step between samples is ") != remark.npos;
    if (is_step && remark.find(" now") == remark.npos) continue;
    if (++told <= most) text += remark + "\n";
  }
  const auto held = std::ranges::find_if(first.held, [](std::size_t h) { return h > 0; });
  if (held != first.held.end())
    text += fmt::format("{} missing inputs were held at their last values (the first: {})\n",
                        std::accumulate(held, first.held.end(), std::size_t{0}),
                        place_of_row(r.data, static_cast<std::size_t>(held - first.held.begin())));
  if (first.late_labels > 0)
    text += fmt::format(
        "{} targets came for no row that waited for them: unknown, there already, or later than "
        "--max-delay\n",
        first.late_labels);
  return text;
}

// How many rows were told, in each run.
std::string remarks_on_anomalies(const RunReport& r) {
  std::string text;
  for (const Outcome& o : r.outcomes)
    for (std::size_t s = 0; s < o.seeds.size(); ++s)
      text += fmt::format("{}, seed {}: {} of {} rows are anomalies\n", o.name, o.seeds[s],
                          o.runs[s].anomalies, o.runs[s].steps);
  return text;
}

// How many alarms there were, in each run.
std::string remarks_on_alarms(const RunReport& r) {
  std::string text;
  for (const Outcome& o : r.outcomes)
    for (std::size_t s = 0; s < o.seeds.size(); ++s)
      if (o.runs[s].has_alarms)
        text += fmt::format("{}, seed {}: {} alarms in {} rows\n", o.name, o.seeds[s],
                            o.runs[s].alarms.size(), o.runs[s].steps);
  return text;
}

// What was asked for and has no effect.
std::string remarks_on_options(const RunArguments& a, const Dataset& data,
                               const std::vector<Contender>& contenders) {
  std::vector<std::string> raw;
  for (const Contender& c : contenders)
    if (takes_raw_data(c.options.rule)) raw.push_back(c.name);
  std::string text;
  if ((a.scaling.scale || a.scaling.unscaled) && raw.size() == contenders.size())
    text += fmt::format("{} changes nothing: {} take{} raw data\n",
                        a.scaling.scale ? "--scale" : "--unscaled", fmt::join(raw, ", "),
                        raw.size() == 1 ? "s" : "");
  if (!a.preset.empty() && !raw.empty())
    text += fmt::format(
        "--preset chooses the rows but no settings for {}: nothing is published for {}\n",
        fmt::join(raw, ", "), raw.size() == 1 ? "it" : "them");
  for (const Contender& c : contenders)
    if (const std::string remark = remark_on(options_on(c, data)); !remark.empty())
      text += remark + "\n";
  return text;
}

void print_tables(const RunArguments& a, const RunReport& r) {
  const RunResult& first = r.outcomes.front().runs.front();
  fmt::print(
      "{}: {} rows{}, {}, {}; {}{}\n", r.data.source, r.steps,
      r.data.keys.empty() ? "" : fmt::format(" of {}", plural(first.timelines.size(), "key")),
      plural(r.data.n_inputs(), "input"), plural(r.data.n_targets(), "target"),
      plural(r.outcomes.front().seeds.size(), "seed"),
      a.settings.interval.widest > 0
          ? fmt::format("; intervals for {:.4g} %", 100 * a.settings.interval.widest)
          : "");
  if (const std::string time = time_report(a.settings.time, first); !time.empty())
    fmt::print("{}\n", time);
  if (!a.preset.empty()) {
    const auto [experiment, published] = experiment_for(a.preset, r.data);
    fmt::print("preset {}: {} {}\n", a.preset,
               published ? "the published settings of"
                         : "nothing is published for this stream; the settings of",
               to_string(experiment));
  }
  if (first.classes) {
    fmt::print("{}\nreliability of {}: how often it was right, by how sure it was\n{}",
               class_table(r.outcomes), r.outcomes.front().name, reliability_table(*first.classes));
    return;
  }
  fmt::print("{}",
             comparison_table(r.outcomes, a.stop_when_sustained || r.data.name == "addition"));
  if (r.data.n_targets() > 1) fmt::print("\n{}", target_table(r.data, r.outcomes));
}

}  // namespace

std::string comparison_table(const std::vector<Outcome>& outcomes, bool with_sustained) {
  std::vector<Summary> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(summarise(outcome));
  bool forecasts = false;
  bool bounds = false;
  bool several = false;
  for (const Summary& s : rows) {
    forecasts |= !std::isnan(s.knse_mean);
    bounds |= !std::isnan(s.bounds.coverage);
    several |= s.seeds > 1;
  }

  std::vector<view::Column> header{{"learner", Align::left}, {several ? "NSE mean" : "NSE"}};
  if (several) header.push_back({"5–95 %"});
  header.insert(header.end(), {{"RMSE"}, {"MAE"}});
  if (forecasts) header.push_back({"kNSE"});
  if (bounds) header.insert(header.end(), {{"coverage"}, {"mean width"}, {"median width"}});
  if (with_sustained) header.push_back({"sustained at"});
  header.insert(header.end(), {{"updates"}, {"µs/step"}});

  view::Table table(header);
  for (const Summary& s : rows) {
    std::vector<Cell> cells{s.learner};
    const auto add = [&](double Summary::*field, const std::string& text) {
      const auto is_lower = [&](const Summary& other) { return other.*field < s.*field; };
      cells.emplace_back(text, std::isfinite(s.*field) && std::ranges::none_of(rows, is_lower));
    };
    add(&Summary::nse_mean, number(s.nse_mean));
    if (several) cells.emplace_back(fmt::format("{} – {}", number(s.nse_p05), number(s.nse_p95)));
    add(&Summary::rmse_mean, format_number(s.rmse_mean));
    add(&Summary::mae_mean, format_number(s.mae_mean));
    if (forecasts) add(&Summary::knse_mean, number(s.knse_mean));
    if (bounds) add_bounds(cells, s.bounds);
    if (with_sustained)
      cells.emplace_back(
          std::isfinite(s.sustained_median) ? fmt::format("{:.0f}", s.sustained_median) : "never");
    cells.emplace_back(fmt::format("{:.1f} %", 100 * s.update_fraction));
    add(&Summary::us_per_step, format_number(s.us_per_step, 3));
    table.add_row(std::move(cells));
  }
  return table.to_text(view::is_terminal(stdout));
}

void check_outputs(const RunArguments& a) {
  namespace fs = std::filesystem;
  std::vector<std::string> used;
  if (a.data != "-") used.push_back(a.data);  // there it is what comes in, else what goes out
  std::error_code ignored;
  for (const std::string& out :
       {a.json, a.csv, a.plot, a.plot_predictions, a.plot_weights, a.save}) {
    if (out.empty()) continue;
    for (const std::string& other : used)
      if (out == other || fs::equivalent(out, other, ignored))
        throw std::invalid_argument(
            fmt::format("'{}' is named twice and would be overwritten; choose another name", out));
    used.push_back(out);
    if (out != "-") require_writable(out);
  }
}

void write_results(const RunArguments& a, const RunReport& r) {
  // What was computed is shown first: a full disk must not take the table with it.
  if (!a.quiet && a.json != "-" && a.csv != "-") print_tables(a, r);
  write_or_print(a.json, [&] {
    return results_json(r.data, r.contenders, a.settings.interval.widest, r.outcomes);
  });
  write_or_print(a.csv, [&] { return predictions_csv(r.data, r.outcomes); });
  write_or_print(a.plot, [&] { return learning_curves(r.data, r.outcomes); });
  write_or_print(a.plot_predictions, [&] {
    return predictions_chart(r.data, r.outcomes, a.plot_rows, a.settings.interval.widest);
  });
  write_or_print(a.plot_weights, [&] { return weight_curves(r.data, r.contenders, r.outcomes); });
  std::fflush(stdout);
  if (!a.quiet)
    fmt::print(stderr, "{}{}{}{}{}", remarks_on_rows(r),
               a.settings.alarm_rate > 0 ? remarks_on_anomalies(r) : "", remarks_on_alarms(r),
               remarks_on_outcomes(r.data, r.outcomes, a.settings.horizon),
               remarks_on_options(a, r.data, r.contenders));
}

}  // namespace kalstream::cli
