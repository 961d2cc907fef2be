// kalstream forecast: learns a file and tells what comes next.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "checks.h"
#include "commands.h"
#include "contenders/contenders.h"
#include "data/source.h"
#include "eval/outlook.h"
#include "forecast_view.h"
#include "io/atomic_file.h"
#include "kalstream/settings.h"
#include "schema/future.h"
#include "schema/rules.h"
#include "stream_options.h"
#include "stream_summary.h"
#include "view/progress.h"

namespace kalstream::cli {
namespace {

struct ForecastArguments {
  std::string data;
  std::vector<std::string> columns;
  StreamSettings settings = {.horizon = 24};
  std::vector<double> coverages{0.9};
  std::size_t delay = 0;
  double floor = -std::numeric_limits<double>::infinity();
  double ceiling = std::numeric_limits<double>::infinity();
  std::string start;
  bool backtest = false;
  std::string csv;
  std::string json;
  std::string plot;
  std::string save;
  bool quiet = false;
};

Contender contender_of(const ForecastArguments& a, Learnt& before, const Dataset& data) {
  if (before.learner) return started(a.start, std::move(before.learner), data);
  const StreamSettings& s = a.settings;
  auto contenders = make_contenders({s.learner}, "", data);
  Contender& c = contenders.front();
  if (s.hidden > 0) c.options.network.hidden = s.hidden;
  if (s.lags > 0) set_lags(contenders, s.lags);
  set_loss(contenders, s.loss);
  set_threads(contenders, std::max<std::size_t>(1, s.jobs));
  for (const std::string& assignment : s.set) apply_setting(contenders, assignment, data.rows());
  check_inputs(data, contenders);
  c.scaled = !takes_raw_data(c.options.rule);
  return c;
}

// What people should know about inputs and rows before they believe a number.
std::vector<std::string> notes_on(const ForecastArguments& a, const Dataset& data,
                                  const RunResult& run, const std::vector<Outlook>& outlooks) {
  std::vector<std::string> notes = remarks(data.schema);
  for (const std::string& remark : run.remarks)
    if (notes.size() < 10 && remark.find("the step between samples is") == remark.npos)
      notes.push_back(remark);
  const std::size_t behind = data.keys.empty() ? data.rows() - history_of(data) : 0;
  if (behind > 0 && a.settings.time.future.empty())
    notes.push_back(fmt::format(
        "{} rows at the end have no target: forecasts begin before them{}", behind,
        data.n_inputs() == 0 ? "" : "; inputs that are known there can be named with --future"));
  if (std::ranges::any_of(outlooks, [](const Outlook& o) {
        return o.row && !o.timeline.step_at(*o.row) && !o.times.empty();
      }))
    notes.emplace_back("rows come at no regular times: times of the forecasts are what is usual");
  return notes;
}

void check_outputs(const ForecastArguments& a) {
  if (!(a.floor < a.ceiling)) throw std::invalid_argument("--floor must be less than --ceiling");
  int standard = 0;
  for (const std::string* out : {&a.csv, &a.json, &a.plot, &a.save}) {
    if (*out == "-") ++standard;
    if (!out->empty() && *out != "-") require_writable(*out);
  }
  if (standard > 1) throw std::invalid_argument("only one of --csv, --json and --plot can be -");
  if (a.save == "-") throw std::invalid_argument("--save needs a file");
}

void write(const ForecastArguments& a, const ForecastReport& r) {
  const bool table = !a.quiet && a.csv != "-" && a.json != "-" && a.plot != "-";
  if (table) {
    std::size_t rows = 0;
    for (const Outlook& o : r.outlooks) rows += o.history;
    fmt::print("{}: {} rows{} learnt by {}, then {} steps ahead{}\n", r.data.source, rows,
               r.has_keys() ? fmt::format(" of {} keys", r.outlooks.size()) : "", r.learner,
               a.settings.horizon,
               a.settings.interval.widest > 0
                   ? fmt::format(" with bounds for {:.4g} %", 100 * a.settings.interval.widest)
                   : "");
    if (const std::string time = time_report(a.settings.time, r.run); !time.empty())
      fmt::print("{}\n", time);
    if (view::is_terminal(stdout) && !r.has_keys())
      fmt::print("\n{}", forecast_text_chart(r, r.outlooks.front(), 100, true));
    fmt::print("\n{}", forecast_table(r));
    if (a.backtest)
      fmt::print("\nforecasts of the past, made after every row: root of the mean squared error\n");
    for (const Outlook& o : r.outlooks)
      if (a.backtest) fmt::print("{}{}", r.has_keys() ? o.key + "\n" : "", backtest_table(r, o));
  }
  write_or_print(a.csv, [&] { return forecast_csv(r); });
  write_or_print(a.json, [&] { return forecast_json(r); });
  if (a.plot == "-")
    fmt::print("{}", forecast_text_chart(r, r.outlooks.front(), 100, view::is_terminal(stdout)));
  else
    write_or_print(a.plot, [&] { return forecast_svg(r); });
  std::fflush(stdout);
  if (!a.quiet)
    for (const std::string& note : r.notes) fmt::print(stderr, "{}\n", note);
}

void forecast(const ForecastArguments& a) {
  check_outputs(a);
  Learnt before = a.start.empty() ? Learnt{} : read_learnt(a.start);
  Dataset data = load(a.data, is_generated(a.data) ? 5000 : 0,
                      read_options(a.settings, a.columns, before.schema));
  if (data.schema.has_classes())
    throw DataError(fmt::format(
        "{}: the target {} is a class, and classes are not forecast; choose another with --target",
        data.source, data.target_names.front()));
  const std::size_t history = history_of(data);
  if (history == 0 && data.labels.empty())
    throw DataError(
        fmt::format("{}: no row has a target; choose another column with --target", data.source));
  if (!a.save.empty() && !data.keys.empty())
    throw std::invalid_argument("--save keeps one learner, and with --key there is one for each");
  known_ahead(data.schema, a.settings.time.future);  // complains of names that are no inputs
  const std::string elapsed = settle_elapsed(a.settings.time, before.learner != nullptr, data);

  const Contender contender = contender_of(a, before, data);
  check_memory({contender}, data, 1, 1);
  // Future inputs are held anyway, and so is what is missing by a learner that needs all.
  const MissingInputs missing = missing_inputs_named(a.settings.missing);
  const bool holds = missing == MissingInputs::learn && !takes_gaps(missing, {contender});
  EvaluationOptions evaluation{.horizon = a.settings.horizon,
                               .coverage = a.settings.interval.widest,
                               .inner = a.settings.interval.inner,
                               .floor = a.floor,
                               .ceiling = a.ceiling,
                               .missing = holds ? MissingInputs::hold : missing,
                               .future = a.settings.time.future,
                               .delay = a.delay,
                               .max_delay = a.settings.max_delay,
                               .periods = periods_of(a.settings.time)};
  Outlooks collected(data, evaluation, a.backtest);
  std::optional<CalibratedLearner> learnt;
  view::Progress progress(data.name, data.rows(), !a.quiet && view::is_terminal(stderr));
  const RunResult run = evaluate(
      engine_for(contender, a.settings.seed), data, evaluation,
      [&](std::size_t rows, double) { progress.advance(rows - progress.done()); },
      [&](Engine& engine) {
        if (!a.save.empty()) learnt = engine.take_learner();
      });
  progress.finish();
  const std::vector<Outlook> outlooks = collected.take(run);
  if (std::ranges::none_of(outlooks, [](const Outlook& o) { return o.row.has_value(); }))
    throw DataError(
        fmt::format("{}: no row has all its inputs; choose others with --inputs", data.source));
  ForecastReport report{data,
                        run,
                        outlooks,
                        name_of(contender.options.rule),
                        a.settings.interval,
                        notes_on(a, data, run, outlooks)};
  if (!elapsed.empty()) report.notes.push_back(elapsed);
  write(a, report);
  if (learnt) write_snapshot(a.save, learnt->learner(), data.schema);
}

}  // namespace

void add_forecast(CLI::App& app) {
  auto a = std::make_shared<ForecastArguments>();
  CLI::App* cmd = app.add_subcommand(
      "forecast", "Learn a file and tell what comes next, with times and bounds");
  add_data(*cmd, a->data);
  add_field_settings(*cmd, a->settings);
  add_column_names(*cmd, a->columns);
  add_settings(*cmd, a->settings, {"horizon"});
  cmd->add_option("--interval", a->coverages,
                  "Bounds that hold this fraction of the values; several, as 0.8,0.95, are told "
                  "together; 0: none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  cmd->add_option("--floor", a->floor, "Forecasts and bounds are never below, e.g. 0");
  cmd->add_option("--ceiling", a->ceiling, "Forecasts and bounds are never above");
  cmd->add_option("--delay", a->delay, "Targets come so many rows late, as for run")
      ->check(whole_number(1, ModelOptions::longest_delay));
  add_settings(*cmd, a->settings,
               {"max-delay", "period", "future", "elapsed", "missing", "learner"});
  CLI::Option* start = cmd->add_option("--start", a->start,
                                       "Begin with the learner that --save or a stream has kept");
  add_settings(*cmd, a->settings, {"lags", "hidden", "loss", "seed", "jobs", "set"});
  for (const char* decided :
       {"--learner", "--lags", "--hidden", "--loss", "--seed", "--set", "--jobs"})
    start->excludes(cmd->get_option(decided));
  cmd->add_flag("--backtest", a->backtest,
                "Score the forecasts that were made on the way, by lead, beside the last value and "
                "the value one period before");
  cmd->add_option("--csv", a->csv, "Write the forecast as CSV; - for standard output");
  cmd->add_option("--json", a->json,
                  "Write it as JSON, notes and scores as well; - for standard output");
  cmd->add_option("--plot", a->plot,
                  "Draw past, forecast and band as SVG; - for characters on standard output")
      ->check(svg_name());
  cmd->add_option("--save", a->save,
                  "Keep all that was learnt in a file, to go on from with --start");
  cmd->add_flag("--quiet", a->quiet, "No table, no progress, no notes");
  cmd->footer(
      "Rows without a target at the end are the future: with --future, their inputs are used.\n\n"
      "  kalstream forecast load.csv --horizon 48 --interval 0.9 --plot load.svg\n"
      "  kalstream forecast load.csv --horizon 48 --backtest\n"
      "  kalstream forecast load.csv --future temp_forecast,holiday --csv next.csv\n"
      "  kalstream forecast series.csv --period 24,168 --json -\n"
      "  kalstream forecast sales.csv --key store --horizon 28 --csv next.csv\n");
  cmd->callback([a] {
    a->settings.interval = Coverages(a->coverages);
    forecast(*a);
  });
}

}  // namespace kalstream::cli
