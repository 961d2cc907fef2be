// kalstream run: progressive validation of learners on a stream.
#include "run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "checks.h"
#include "commands.h"
#include "comparison_view.h"
#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "data/source.h"
#include "io/atomic_file.h"
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
  const std::size_t horizon = a.settings.horizon;
  const ReadOptions options = read_options(a.settings, a.columns, like);
  if (a.steps > 0) return load(a.data, a.steps + horizon, options);
  if (!is_generated(a.data)) return load(a.data, 0, options);
  const std::size_t rows = a.preset.empty() ? 5000 : published_rows(a, load(a.data, 1, options));
  return load(a.data, rows + horizon, options);
}

// What the user says, the published number with a preset, else all there is.
std::size_t rows_to_run(const RunArguments& a, const Dataset& data) {
  std::size_t rows = data.rows();
  if (a.steps > 0)
    rows = a.steps;
  else if (!a.preset.empty())
    rows = published_rows(a, data);
  else if (is_generated(a.data))
    rows -= a.settings.horizon;
  return std::min(rows, data.rows());
}

// The learners that were asked for, with their settings.
std::vector<Contender> chosen(const RunArguments& a, const Dataset& data, std::size_t seeds,
                              std::size_t steps) {
  auto contenders = make_contenders(a.learners, a.preset, data);
  for (Contender& c : contenders) {
    c.scaled = is_scaled(a.scaling, a.preset, c.options.rule);
    if (a.settings.hidden > 0) c.options.network.hidden = a.settings.hidden;
    if (a.settings.window > 0) c.options.network.window = a.settings.window;
    if (auto* rule = std::get_if<Auto>(&c.options.rule)) rule->experts = a.settings.experts;
  }
  set_loss(contenders, a.settings.loss);
  if (a.settings.lags > 0) set_lags(contenders, a.settings.lags);
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
    const ExpertChoice choice = choose_experts(options, a.settings.budget_us);
    rule->experts = choice.experts;
    if (a.quiet) continue;
    const std::string us = view::format_number(choice.us, 3);
    if (choice.within)
      fmt::print(stderr, "{}: --experts {} of {}, some {} µs per sample\n", c.name, choice.experts,
                 choice.most, us);
    else
      fmt::print(stderr, "{}: even --experts 1 takes some {} µs per sample, more than {}\n", c.name,
                 us, a.settings.budget_us);
  }
}

EvaluationOptions evaluation_of(const RunArguments& a, std::size_t steps) {
  constexpr std::size_t weight_points = 120;  // more cannot be told apart
  const StreamSettings& s = a.settings;
  return {.steps = steps,
          .warm_up = warm_up(a),
          .horizon = s.horizon,
          .stop_when_sustained = a.stop_when_sustained,
          .weight_points = a.plot_weights.empty() ? 0 : weight_points,
          .coverage = s.interval.widest,
          .inner = s.interval.inner,
          .surprise = s.surprise,
          .alarm_rate = s.alarm_rate,
          .alarms = s.alarms(),
          .keep_forecasts = !a.csv.empty(),
          .missing = missing_inputs_named(s.missing),
          .future = s.time.future,
          .all_known_ahead = !a.preset.empty(),  // as published
          .delay = a.delay,
          .max_delay = s.max_delay,
          .periods = periods_of(s.time)};
}

// Options that mean nothing where targets are classes.
void refuse_what_is_for_numbers(const RunArguments& a) {
  const std::vector<std::pair<bool, const char*>> options = {
      {!a.preset.empty(), "--preset"},
      {a.settings.horizon > 0, "--horizon"},
      {a.settings.interval.widest > 0, "--interval"},
      {a.stop_when_sustained, "--stop-when-sustained"},
      {!a.save.empty(), "--save"},
      {!a.start.empty(), "--start"}};
  for (const auto& [given, name] : options)
    if (given)
      throw std::invalid_argument(fmt::format(
          "{} is for targets that are numbers, and the target of {} is a class; leave it away",
          name, a.data));
}

void run(const RunArguments& a) {
  auto seeds = parse_seeds(a.seeds);
  if (!a.save.empty() && (a.learners.size() != 1 || seeds.size() != 1 || a.save == "-"))
    throw std::invalid_argument("--save is for one learner, one seed and a file");
  check_outputs(a);
  Learnt before = a.start.empty() ? Learnt{} : read_learnt(a.start);
  Dataset data = load_data(a, before.schema);
  const bool classes = data.schema.has_classes();
  if (classes) refuse_what_is_for_numbers(a);
  if (!a.save.empty() && !data.keys.empty())
    throw std::invalid_argument(
        "--save keeps one learner, and with --key there is one for each; let 'kalstream stream "
        "--checkpoint' keep them");
  known_ahead(data.schema, a.settings.time.future);  // complains of names that are no inputs
  const std::string elapsed_remark =
      settle_elapsed(a.settings.time, before.learner != nullptr, data);
  const std::size_t steps = rows_to_run(a, data);

  if (before.learner) seeds = {before.learner->recipe()->options.network.seed};
  auto contenders = before.learner ? std::vector{started(a.start, std::move(before.learner), data)}
                                   : chosen(a, data, seeds.size(), steps);
  if (a.settings.experts > 0) check_is_for_auto("--experts", contenders);
  if (a.settings.budget_us > 0) check_is_for_auto("--budget-us", contenders);
  if (!a.plot_weights.empty()) check_is_for_mixtures("--plot-weights", contenders);
  check_inputs(data, contenders);
  ComparisonOptions options{.seeds = seeds, .evaluation = evaluation_of(a, steps), .jobs = a.jobs};
  if (!classes) {
    check_target_range(data, contenders, steps);
    check_something_to_predict(data, steps, takes_gaps(options.evaluation.missing, contenders));
  }
  if (a.stop_when_sustained) check_can_be_sustained(data);
  std::optional<CalibratedLearner> learnt;
  if (!a.save.empty())
    options.on_finished = [&](std::size_t, std::size_t, Engine& engine) {
      learnt = engine.take_learner();
    };
  check_memory(contenders, data, seeds.size(), a.jobs);
  if (a.settings.budget_us > 0) keep_within_budget(a, data, contenders);

  const auto outcomes = compare_with_progress(data.name, contenders, data, options,
                                              !a.quiet && view::is_terminal(stderr));
  write_results(a, {data, steps, contenders, outcomes, elapsed_remark});
  if (learnt) write_snapshot(a.save, learnt->learner(), data.schema);
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
