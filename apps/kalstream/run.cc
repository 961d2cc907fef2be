// kalstream run: progressive validation of learners on a stream.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "checks.h"
#include "commands.h"
#include "comparison_view.h"
#include "core/finite.h"
#include "data/source.h"
#include "eval/budget.h"
#include "eval/contenders.h"
#include "eval/parallel.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "io/snapshot_file.h"
#include "kalstream/settings.h"
#include "learner/footprint.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

struct RunArguments {
  std::string data;
  FieldChoice columns;
  std::size_t lags = 0;
  std::size_t steps = 0;
  std::size_t horizon = 0;
  std::optional<std::size_t> warm_up;
  std::vector<std::string> learners = {"auto"};
  std::string preset;
  std::size_t hidden = 0;
  std::size_t window = 0;
  std::size_t experts = 0;
  double budget_us = 0;
  std::string seeds = "1";
  std::vector<std::string> set;
  bool scale = false;
  bool stop_when_sustained = false;
  std::size_t jobs = 0;
  std::string json;
  std::string csv;
  std::string plot;
  std::string save;
  std::string resume;
  std::string plot_weights;
  bool quiet = false;
};

// The published experiments let the window fill up first.
std::size_t warm_up(const RunArguments& a) {
  return a.warm_up.value_or(a.preset.empty() ? 0 : published_warm_up);
}

// Rows a preset asks for, of this stream.
std::size_t published_rows(const RunArguments& a, const Dataset& data) {
  return warm_up(a) +
         static_cast<std::size_t>(published_run_length(experiment_for(a.preset, data).first));
}

// All of a file unless --steps says less; a generator has no end.
Dataset load_data(const RunArguments& a) {
  if (a.steps > 0) return load(a.data, a.steps + a.horizon, a.columns);
  if (!is_generated(a.data)) return load(a.data, 0, a.columns);
  const std::size_t rows = a.preset.empty() ? 5000 : published_rows(a, load(a.data, 1, a.columns));
  return load(a.data, rows + a.horizon, a.columns);
}

// What the user says, the published number with a preset, else all there is.
std::size_t rows_to_run(const RunArguments& a, const Dataset& data) {
  std::size_t rows = data.rows();
  if (a.steps > 0)
    rows = a.steps;
  else if (!a.preset.empty())
    rows = published_rows(a, data);
  else if (is_generated(a.data))
    rows -= a.horizon;
  return std::min(rows, data.rows());
}

// Files that would be overwritten by mistake or cannot be written are found before the work.
void check_outputs(const RunArguments& a) {
  namespace fs = std::filesystem;
  std::vector<std::string> used{a.data};
  std::error_code ignored;
  for (const std::string& out : {a.json, a.csv, a.plot, a.plot_weights, a.save}) {
    if (out.empty()) continue;
    for (const std::string& other : used)
      if (out == other || fs::equivalent(out, other, ignored))
        throw std::invalid_argument(
            fmt::format("'{}' is named twice and would be overwritten; choose another name", out));
    used.push_back(out);
    if (out != "-") require_writable(out);
  }
}

// As many of the largest learners as run at a time must fit into memory.
void check_memory(const std::vector<Contender>& contenders, const Dataset& data,
                  const ComparisonOptions& options) {
  std::vector<std::pair<double, std::string>> needs;
  for (const Contender& c : contenders)
    needs.insert(needs.end(), options.seeds.size(), {footprint(options_on(c, data)).bytes, c.name});
  std::sort(needs.rbegin(), needs.rend());
  const std::size_t jobs =
      std::min(needs.size(), options.jobs == 0 ? default_jobs() : options.jobs);
  double bytes = 0;
  for (std::size_t k = 0; k < jobs; ++k) bytes += needs[k].first;
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  constexpr double gib = 1 << 30;
  if (bytes > 0.9 * machine)
    throw std::invalid_argument(fmt::format(
        "{} needs {:.1f} GiB, and {} runs at a time {:.1f} GiB, but this machine has {:.1f}; use "
        "fewer --hidden units, smaller blocks (--set partition=node) or --jobs 1",
        needs.front().second, needs.front().first / gib, jobs, bytes / gib, machine / gib));
}

// The saved learner, if it fits the data.
Contender resumed(const RunArguments& a, const Learner& start, const Dataset& data) {
  if (start.inputs() != data.n_inputs() || start.outputs() != data.n_targets())
    throw std::invalid_argument(fmt::format(
        "--resume {}: the saved learner has {} inputs and {} targets, the data {} and {}", a.resume,
        start.inputs(), start.outputs(), data.n_inputs(), data.n_targets()));
  const Recipe& recipe = *start.recipe();
  return {name_of(recipe.options.rule), recipe.options, recipe.scaled, &start};
}

// As many networks of auto as --budget-us allows; told unless quiet.
void keep_within_budget(const RunArguments& a, const Dataset& data,
                        std::vector<Contender>& contenders) {
  for (Contender& c : contenders) {
    auto* rule = std::get_if<Auto>(&c.options.rule);
    if (rule == nullptr) continue;
    const LearnerOptions options = options_on(c, data);
    options.validate();
    const ExpertChoice choice = choose_experts(options, a.budget_us);
    rule->experts = choice.experts;
    if (a.quiet) continue;
    const std::string us = view::format_number(choice.us, 3);
    if (choice.within)
      fmt::print(stderr, "{}: --experts {} of {}, some {} µs per sample\n", c.name, choice.experts,
                 choice.most, us);
    else
      fmt::print(stderr, "{}: even --experts 1 takes some {} µs per sample, more than {}\n", c.name,
                 us, a.budget_us);
  }
}

// What was asked for and has no effect.
std::string remarks_on_options(const RunArguments& a, const Dataset& data,
                               const std::vector<Contender>& contenders) {
  std::vector<std::string> raw;
  for (const Contender& c : contenders)
    if (takes_raw_data(c.options.rule)) raw.push_back(c.name);
  std::string text;
  if (a.scale && raw.size() == contenders.size())
    text += fmt::format("--scale changes nothing: {} take{} raw data\n", fmt::join(raw, ", "),
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

void print_results(const RunArguments& a, const Dataset& data, std::size_t steps, std::size_t seeds,
                   const std::vector<Outcome>& outcomes) {
  fmt::print("{}: {} rows, {} input{}, {} target{}; {} seed{}\n", data.source, steps,
             data.n_inputs(), data.n_inputs() == 1 ? "" : "s", data.n_targets(),
             data.n_targets() == 1 ? "" : "s", seeds, seeds == 1 ? "" : "s");
  if (!a.preset.empty()) {
    const auto [experiment, published] = experiment_for(a.preset, data);
    fmt::print("preset {}: {} {}\n", a.preset,
               published ? "the published settings of"
                         : "nothing is published for this stream; the settings of",
               to_string(experiment));
  }
  fmt::print("{}", comparison_table(
                       outcomes, {.sustained = a.stop_when_sustained || data.name == "addition"}));
}

void run(const RunArguments& a) {
  auto seeds = parse_seeds(a.seeds);
  if (!a.save.empty() && (a.learners.size() != 1 || seeds.size() != 1 || a.save == "-"))
    throw std::invalid_argument("--save is for one learner, one seed and a file");
  check_outputs(a);
  const Dataset data = load_data(a);
  const std::size_t steps = rows_to_run(a, data);

  const auto start = a.resume.empty() ? nullptr : read_learnt(a.resume).learner;
  auto contenders =
      start ? std::vector{resumed(a, *start, data)} : make_contenders(a.learners, a.preset, data);
  if (start) seeds = {start->recipe()->options.network.seed};
  for (Contender& c : contenders) {
    if (start) break;  // has its settings
    c.scaled = a.scale;
    if (a.hidden > 0) c.options.network.hidden = a.hidden;
    if (a.window > 0) c.options.network.window = a.window;
    if (auto* rule = std::get_if<Auto>(&c.options.rule)) rule->experts = a.experts;
  }
  if (a.lags > 0) set_lags(contenders, a.lags);
  const std::size_t runs = contenders.size() * seeds.size();
  if (!start && a.jobs > runs) set_threads(contenders, a.jobs / runs);
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, steps);
  if (a.experts > 0) check_is_for_auto("--experts", contenders);
  if (a.budget_us > 0) check_is_for_auto("--budget-us", contenders);
  if (!a.plot_weights.empty()) check_is_for_mixtures("--plot-weights", contenders);
  check_inputs(data, contenders);
  check_target_range(data, contenders, steps);
  check_something_to_predict(data, steps);
  if (a.stop_when_sustained) check_can_be_sustained(data);
  std::unique_ptr<Learner> learnt;
  const auto keep = [&](std::size_t, std::size_t, std::unique_ptr<Learner> learner) {
    learnt = std::move(learner);
  };
  constexpr std::size_t weight_points = 120;  // more cannot be told apart
  ComparisonOptions options{
      .seeds = seeds,
      .evaluation = {.steps = steps,
                     .warm_up = warm_up(a),
                     .horizon = a.horizon,
                     .stop_when_sustained = a.stop_when_sustained,
                     .weight_points = a.plot_weights.empty() ? 0 : weight_points},
      .jobs = a.jobs};
  if (!a.save.empty()) options.on_finished = keep;
  check_memory(contenders, data, options);
  if (a.budget_us > 0) keep_within_budget(a, data, contenders);

  const auto outcomes = compare_with_progress(data.name, contenders, data, options,
                                              !a.quiet && view::is_terminal(stderr));

  // What was computed is shown first: a full disk must not take the table with it.
  if (!a.quiet && a.json != "-" && a.csv != "-")
    print_results(a, data, steps, seeds.size(), outcomes);
  const auto write = [](const std::string& to, const std::string& text) {
    to == "-" ? fmt::print("{}", text) : write_file(to, text);
  };
  if (!a.json.empty()) write(a.json, results_json(data, contenders, outcomes));
  if (!a.csv.empty()) write(a.csv, predictions_csv(data, outcomes));
  if (!a.plot.empty()) write(a.plot, learning_curves(data, outcomes));
  if (!a.plot_weights.empty()) write(a.plot_weights, weight_curves(data, contenders, outcomes));
  if (!a.save.empty()) write_snapshot(a.save, *learnt);
  std::fflush(stdout);
  if (!a.quiet)
    fmt::print(stderr, "{}{}", remarks(data, outcomes, a.horizon),
               remarks_on_options(a, data, contenders));
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  std::vector<std::string> learners;
  for (const LearnerName& l : learner_names()) learners.push_back(fmt::format("{}", l.name));

  CLI::App* cmd = app.add_subcommand(
      "run", "Predict a stream row by row, learning after each; compare learners");
  cmd->add_option("--data", a->data,
                  "FILE (.csv .tsv .txt .jsonl .arff .mat), - for text from standard input, or "
                  "gen:NAME[?k=v&...]")
      ->required();
  cmd->add_option("--learner", a->learners, fmt::format("{}", fmt::join(learners, ", ")))
      ->delimiter(',')
      ->capture_default_str();
  cmd->add_option("--preset", a->preset,
                  "paper (the text) or authors (the published experiments), with the settings "
                  "published for this stream or, as authors:STREAM, for another");
  cmd->add_option("--hidden", a->hidden,
                  "Units (default 16); auto: a measure of its networks' size")
      ->check(whole_number(1, 1e6));
  cmd->add_option("--window", a->window, "Samples to back-propagate through (default 10)")
      ->check(whole_number(1, 1e6));
  CLI::Option* experts =
      cmd->add_option("--experts", a->experts,
                      "Networks that auto uses, the most useful first (default: all)")
          ->check(whole_number(1, 1e3));
  cmd->add_option("--budget-us", a->budget_us,
                  "As many of them as keep a sample within this many microseconds on this machine; "
                  "measured at the start")
      ->check(whole_number(1, 1e9))
      ->excludes(experts);
  cmd->add_option("--seeds", a->seeds, "How many random starts, or which: 10, 5..14")
      ->capture_default_str();
  cmd->add_option("--steps", a->steps,
                  "Rows to use (default: all of a file, 5000 generated, the published number with "
                  "a preset)")
      ->check(whole_number(1, 1e12));
  cmd->add_option("--horizon", a->horizon,
                  "Also score forecasts this many rows ahead (kNSE), given the inputs until then")
      ->check(whole_number(1, 1e12));
  cmd->add_option("--warm-up", a->warm_up,
                  "First rows to pass through without scoring or learning (default: none; 9 with a "
                  "preset, as published)")
      ->check(whole_number(0, 1e12));
  cmd->add_option("--target", a->columns.targets,
                  "Target columns, by name or number from 1 (default: the last)")
      ->delimiter(',');
  cmd->add_option("--inputs", a->columns.inputs,
                  "Input columns, by name or number from 1, or none (default: all others)")
      ->delimiter(',');
  cmd->add_option("--lags", a->lags,
                  "So many past targets are inputs as well: for a time series, which needs no "
                  "other inputs then")
      ->check(whole_number(1, 1e5));
  cmd->add_flag("--scale", a->scale,
                "Standardise inputs and map targets into range as they come, causally; auto and "
                "baselines do so by themselves");
  cmd->add_option("--set", a->set,
                  "key=value ... for all learners, learner.key=value for one; 'kalstream inspect "
                  "--learner L' lists the keys");
  cmd->add_flag(
      "--stop-when-sustained", a->stop_when_sustained,
      "End a run after 500 correct signs in a row; of a target with two values, such as 0 "
      "and 1, the nearer one");
  cmd->add_option("--jobs", a->jobs,
                  fmt::format("Runs at a time (default: {}, one per core); if there are fewer, "
                              "the experts of auto and alg2 and large ekf share the rest",
                              default_jobs()))
      ->check(whole_number(0, 1e4));
  cmd->add_option("--json", a->json, "Write results as JSON; - for standard output");
  cmd->add_option("--csv", a->csv, "Write every prediction as CSV; - for standard output");
  cmd->add_option("--plot", a->plot, "Draw the learning curves as SVG");
  cmd->add_option("--plot-weights", a->plot_weights,
                  "Draw what each expert of auto, auto-max and alg2 counts over time as SVG");
  cmd->add_option(
      "--save", a->save,
      "Keep all that was learnt in a file, to go on from with --resume; for one learner "
      "and one seed");
  CLI::Option* resume =
      cmd->add_option("--resume", a->resume, "Go on with the learner in a file that --save wrote");
  for (const char* decided : {"--learner", "--preset", "--hidden", "--window", "--seeds", "--lags",
                              "--scale", "--set", "--experts", "--budget-us"})
    resume->excludes(cmd->get_option(decided));
  cmd->add_flag("--quiet", a->quiet, "No table, no progress, no remarks");
  cmd->footer(
      "A schedule is written 0.1 (constant), 10..3 (linear over the run), 10..3@500 (over 500\n"
      "samples) or 1e-3~1e-6@500 (exponential, that time constant).\n"
      "NSE is the mean squared error over the variance of the target: 1 is as good as its mean.\n\n"
      "  kalstream run --data my.csv --plot curve.svg\n"
      "  kalstream run --data series.csv --horizon 5 --learner naive,ar,auto --budget-us 50\n"
      "  kalstream run --data my.csv --scale --learner adam,alg2,auto --seeds 5\n"
      "  kalstream run --data my.csv --learner alg2 --set alg2.initial_covariance=10 --json -\n");
  cmd->callback([a] { run(*a); });
}

}  // namespace kalstream::cli
