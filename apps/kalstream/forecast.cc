// kalstream forecast: learns a file and tells what comes next.
#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "checks.h"
#include "commands.h"
#include "data/source.h"
#include "eval/contenders.h"
#include "eval/hold.h"
#include "eval/outlook.h"
#include "field_options.h"
#include "forecast_view.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "kalstream/forecaster.h"
#include "kalstream/settings.h"
#include "schema/future.h"
#include "schema/rules.h"
#include "time_options.h"
#include "view/progress.h"

namespace kalstream::cli {
namespace {

struct ForecastArguments {
  std::string data;
  FieldChoice fields;
  std::vector<std::string> columns;
  TimeChoice time;
  std::string missing = "hold";
  std::size_t horizon = 24;
  double interval = 0.9;
  std::string learner = "auto";
  std::string start;
  std::size_t hidden = 0;
  std::size_t lags = 0;
  std::uint64_t seed = 1;
  std::size_t jobs = 1;
  std::vector<std::string> set;
  bool backtest = false;
  std::string csv;
  std::string json;
  std::string plot;
  std::string save;
  bool quiet = false;
};

Contender contender_of(const ForecastArguments& a, const Dataset& data) {
  auto contenders = make_contenders({a.learner}, "", data);
  Contender& c = contenders.front();
  c.scaled = true;
  if (a.hidden > 0) c.options.network.hidden = a.hidden;
  if (a.lags > 0) set_lags(contenders, a.lags);
  set_threads(contenders, a.jobs);
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, data.rows());
  check_inputs(data, contenders);
  c.scaled = c.scaled && !takes_raw_data(c.options.rule);
  return c;
}

std::unique_ptr<Learner> learner_for(const ForecastArguments& a, Learnt& before,
                                     const Dataset& data) {
  if (!before.learner) return make_contender(contender_of(a, data), data, a.seed);
  if (before.learner->inputs() != data.n_inputs() || before.learner->outputs() != data.n_targets())
    throw std::invalid_argument(fmt::format(
        "--start {}: the saved learner has {} inputs and {} targets, the data {} and {}", a.start,
        before.learner->inputs(), before.learner->outputs(), data.n_inputs(), data.n_targets()));
  return std::move(before.learner);
}

// What people should know about inputs and rows before they believe a number.
std::vector<std::string> notes_on(const ForecastArguments& a, const Dataset& data,
                                  const std::vector<bool>& known, const Outlook& outlook) {
  std::vector<std::string> notes = remarks(data.schema);
  for (const std::string& remark : outlook.timeline.remarks)
    if (notes.size() < 10 && remark.find("the step between samples is") == remark.npos)
      notes.push_back(remark);
  if (const std::string held = held_ahead(data.schema, known); !held.empty()) notes.push_back(held);
  const std::size_t behind = data.rows() - outlook.history;
  if (behind > 0 && a.time.future.empty())
    notes.push_back(fmt::format(
        "{} rows at the end have no target: forecasts begin before them{}", behind,
        data.n_inputs() == 0 ? "" : "; inputs that are known there can be named with --future"));
  if (outlook.held_known)
    notes.emplace_back(
        "inputs of --future are not known for all of the horizon: there they are held at their "
        "last values; add rows without a target, with their times and these inputs");
  if (!outlook.timeline.step_at(*outlook.row) && !outlook.times.empty())
    notes.emplace_back("rows come at no regular times: times of the forecasts are what is usual");
  return notes;
}

void check_outputs(const ForecastArguments& a) {
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
    const Outlook& o = r.outlook;
    fmt::print("{}: {} rows learnt by {}, then {} steps ahead{}\n", r.data.source, o.history,
               r.learner, a.horizon,
               a.interval > 0 ? fmt::format(" with bounds for {:.4g} %", 100 * a.interval) : "");
    if (const std::string time = time_report(a.time, o.timeline, o.periods); !time.empty())
      fmt::print("{}\n", time);
    if (view::is_terminal(stdout)) fmt::print("\n{}", forecast_text_chart(r, 100, true));
    fmt::print("\n{}", forecast_table(r));
    if (a.backtest)
      fmt::print(
          "\nforecasts of the past, made after every row: root of the mean squared error\n{}",
          backtest_table(r));
  }
  const auto put = [](const std::string& to, const auto& text) {
    if (to.empty()) return;
    to == "-" ? fmt::print("{}", text()) : write_file(to, text());
  };
  put(a.csv, [&] { return forecast_csv(r); });
  put(a.json, [&] { return forecast_json(r); });
  if (a.plot == "-")
    fmt::print("{}", forecast_text_chart(r, 100, view::is_terminal(stdout)));
  else
    put(a.plot, [&] { return forecast_svg(r); });
  std::fflush(stdout);
  if (!a.quiet)
    for (const std::string& note : r.notes) fmt::print(stderr, "{}\n", note);
}

void forecast(const ForecastArguments& a) {
  check_outputs(a);
  const auto periods = periods_of(a.time);
  Learnt before = a.start.empty() ? Learnt{} : read_learnt(a.start);
  ReadOptions reading{.fields = a.fields, .columns = a.columns, .like = before.schema};
  reading.fields.elapsed = a.time.elapsed == "yes";
  Dataset data = load(a.data, is_generated(a.data) ? 5000 : 0, reading);
  const std::size_t history = history_of(data);
  if (history == 0)
    throw DataError(
        fmt::format("{}: no row has a target; choose another column with --target", data.source));
  const std::vector<bool> named = known_ahead(data.schema, a.time.future);
  std::vector<bool> future = a.time.future.empty() ? std::vector<bool>{} : named;
  use_rows_ahead(data, future);
  if (a.missing == "hold") hold_last_inputs(data, future.empty() ? std::vector<bool>{} : future);
  TimeChoice time = a.time;
  if (before.learner && time.elapsed.empty()) time.elapsed = "as before";
  const std::string elapsed = settle_elapsed(time, data);
  const std::vector<bool> known = known_ahead(data.schema, a.time.future);
  if (!future.empty()) future = known;

  const std::unique_ptr<Learner> learner = learner_for(a, before, data);
  view::Progress progress(data.name, history, !a.quiet && view::is_terminal(stderr));
  const Outlook outlook =
      look_ahead(*learner, data,
                 {.horizon = a.horizon,
                  .coverage = a.interval,
                  .known_ahead = future,
                  .periods = periods,
                  .backtest = a.backtest},
                 [&](std::size_t rows) { progress.advance(rows - progress.done()); });
  progress.finish();
  if (!outlook.row)
    throw DataError(
        fmt::format("{}: no row has all its inputs; choose others with --inputs", data.source));
  ForecastReport report{data, outlook, name_of(learner->recipe()->options.rule), a.interval,
                        notes_on(a, data, known, outlook)};
  if (!elapsed.empty()) report.notes.push_back(elapsed);
  write(a, report);
  if (!a.save.empty()) write_snapshot(a.save, *learner, data.schema);
}

}  // namespace

void add_forecast(CLI::App& app) {
  auto a = std::make_shared<ForecastArguments>();
  CLI::App* cmd = app.add_subcommand(
      "forecast", "Learn a file and tell what comes next, with times and bounds");
  add_data(*cmd, a->data);
  add_field_options(*cmd, a->fields);
  add_column_names(*cmd, a->columns);
  cmd->add_option("--horizon", a->horizon, "Steps to forecast after the last row with a target")
      ->check(whole_number(1, Forecaster::longest_horizon))
      ->capture_default_str();
  cmd->add_option("--interval", a->interval,
                  "Bounds that hold this fraction of the values; 0: none")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  add_time_options(*cmd, a->time);
  cmd->add_option("--missing", a->missing,
                  "Rows that lack inputs: hold the last values of these, or refuse the rows")
      ->check(CLI::IsMember({"refuse", "hold"}))
      ->capture_default_str();
  cmd->add_option("--learner", a->learner, "As for run")->capture_default_str();
  CLI::Option* start = cmd->add_option("--start", a->start,
                                       "Begin with the learner that --save or a stream has kept");
  cmd->add_option("--lags", a->lags, "So many past targets are inputs as well")
      ->check(whole_number(1, 1e5));
  cmd->add_option("--hidden", a->hidden, "Units (default 16)")->check(whole_number(1, 1e6));
  cmd->add_option("--seed", a->seed, "Of the random start")->capture_default_str();
  cmd->add_option("--jobs", a->jobs, "Threads for the experts of auto; forecasts are the same")
      ->check(whole_number(1, 1e4))
      ->capture_default_str();
  cmd->add_option("--set", a->set, "key=value ..., as for run");
  for (const char* decided : {"--learner", "--lags", "--hidden", "--seed", "--set", "--jobs"})
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
      "  kalstream forecast series.csv --period 24,168 --json -\n");
  cmd->callback([a] { forecast(*a); });
}

}  // namespace kalstream::cli
