// kalstream run: progressive validation of learners on a stream.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "checks.h"
#include "commands.h"
#include "comparison_view.h"
#include "core/memory_limit.h"
#include "data/reader.h"
#include "data/source.h"
#include "eval/budget.h"
#include "eval/contenders.h"
#include "eval/hold.h"
#include "eval/parallel.h"
#include "io/snapshot_file.h"
#include "kalstream/settings.h"
#include "learner/footprint.h"
#include "run_arguments.h"
#include "run_classes.h"
#include "run_output.h"
#include "schema/future.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

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
Dataset load_data(const RunArguments& a, const Schema& like) {
  ReadOptions options{.fields = a.fields, .columns = a.columns, .like = like};
  options.fields.elapsed = a.time.elapsed == "yes";
  if (a.steps > 0) return load(a.data, a.steps + a.horizon, options);
  if (!is_generated(a.data)) return load(a.data, 0, options);
  const std::size_t rows = a.preset.empty() ? 5000 : published_rows(a, load(a.data, 1, options));
  return load(a.data, rows + a.horizon, options);
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
  const auto machine = static_cast<double>(memory_allowed());
  constexpr double gib = 1 << 30;
  if (bytes > 0.9 * machine)
    throw std::invalid_argument(fmt::format(
        "{} needs {:.1f} GiB, and {} runs at a time {:.1f} GiB, but this process may use {:.1f}; "
        "use fewer --hidden units, smaller blocks (--set partition=node) or --jobs 1",
        needs.front().second, needs.front().first / gib, jobs, bytes / gib, machine / gib));
}

// The saved learner, if it fits the data.
Contender started(const RunArguments& a, const Learner& start, const Dataset& data) {
  if (start.inputs() != data.n_inputs() || start.outputs() != data.n_targets())
    throw std::invalid_argument(fmt::format(
        "--start {}: the saved learner has {} inputs and {} targets, the data {} and {}", a.start,
        start.inputs(), start.outputs(), data.n_inputs(), data.n_targets()));
  const Recipe& recipe = *start.recipe();
  return {name_of(recipe.options.rule), recipe.options, recipe.scaled, &start};
}

// The learners that were asked for, with their settings.
std::vector<Contender> chosen(const RunArguments& a, const Dataset& data, std::size_t seeds,
                              std::size_t steps) {
  auto contenders = make_contenders(a.learners, a.preset, data);
  for (Contender& c : contenders) {
    c.scaled = is_scaled(a.scaling, a.preset, c.options.rule);
    if (a.hidden > 0) c.options.network.hidden = a.hidden;
    if (a.window > 0) c.options.network.window = a.window;
    if (auto* rule = std::get_if<Auto>(&c.options.rule)) rule->experts = a.experts;
  }
  set_loss(contenders, a.loss);
  if (a.lags > 0) set_lags(contenders, a.lags);
  const std::size_t runs = contenders.size() * seeds;
  if (a.jobs > runs) set_threads(contenders, a.jobs / runs);
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, steps);
  return contenders;
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

void run(const RunArguments& a) {
  auto seeds = parse_seeds(a.seeds);
  const auto periods = periods_of(a.time);
  if (!a.save.empty() && (a.learners.size() != 1 || seeds.size() != 1 || a.save == "-"))
    throw std::invalid_argument("--save is for one learner, one seed and a file");
  check_outputs(a);
  const Learnt learnt_before = a.start.empty() ? Learnt{} : read_learnt(a.start);
  const Learner* start = learnt_before.learner.get();
  Dataset data;
  try {
    data = load_data(a, learnt_before.schema);
  } catch (const ClassTarget&) {
    return run_classes(a);
  }
  const std::vector<bool> named = known_ahead(data.schema, a.time.future);
  const std::vector<bool> ahead = a.time.future.empty() ? std::vector<bool>{} : named;
  use_rows_ahead(data, ahead);
  const auto held =
      a.missing == "hold" ? hold_last_inputs(data, ahead) : std::vector<std::size_t>{};
  TimeChoice time = a.time;
  if (start != nullptr && time.elapsed.empty()) time.elapsed = "as before";
  const std::string elapsed_remark = settle_elapsed(time, data);
  const std::vector<bool> known = known_ahead(data.schema, a.time.future);
  const std::vector<bool> future = a.time.future.empty() ? std::vector<bool>{} : known;
  const std::size_t steps = rows_to_run(a, data);

  if (start) seeds = {start->recipe()->options.network.seed};
  auto contenders =
      start ? std::vector{started(a, *start, data)} : chosen(a, data, seeds.size(), steps);
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
                     .weight_points = a.plot_weights.empty() ? 0 : weight_points,
                     .coverage = a.interval,
                     .surprise = a.surprise,
                     .alarm_rate = a.alarm_rate,
                     .keep_forecasts = !a.csv.empty(),
                     .known_ahead = future,
                     .all_known_ahead = !a.preset.empty(),  // as published
                     .periods = periods},
      .jobs = a.jobs};
  if (!a.save.empty()) options.on_finished = keep;
  check_memory(contenders, data, options);
  if (a.budget_us > 0) keep_within_budget(a, data, contenders);

  const auto outcomes = compare_with_progress(data.name, contenders, data, options,
                                              !a.quiet && view::is_terminal(stderr));

  std::string remark = elapsed_remark;
  if (a.horizon > 0 && a.preset.empty())
    if (const std::string held_inputs = held_ahead(data.schema, known); !held_inputs.empty())
      remark += (remark.empty() ? "" : "\n") + held_inputs;
  const Timeline timeline = timeline_of(data, options.evaluation.known_ahead);
  write_results(a, {data, held, steps, contenders, outcomes, timeline, remark});
  if (!a.save.empty()) write_snapshot(a.save, *learnt, data.schema);
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* cmd = app.add_subcommand(
      "run", "Predict a stream row by row, learning after each; compare learners");
  add_run_options(*cmd, *a);
  cmd->callback([a] { run(*a); });
}

}  // namespace kalstream::cli
