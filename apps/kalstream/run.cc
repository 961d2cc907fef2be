// kalstream run: progressive validation of learners on a stream.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "commands.h"
#include "comparison_view.h"
#include "core/finite.h"
#include "eval/parallel.h"
#include "io/atomic_file.h"
#include "io/results.h"
#include "settings.h"
#include "stream.h"
#include "view/progress.h"

namespace kalstream::cli {
namespace {

struct RunArguments {
  StreamArguments stream;
  std::vector<std::string> learners = {"alg2"};
  std::string preset;
  std::size_t hidden = 0;
  std::size_t window = 0;
  std::string seeds = "1";
  std::vector<std::string> set;
  bool scale = false;
  bool stop_when_sustained = false;
  std::size_t jobs = 0;
  std::string json;
  std::string csv;
  std::string plot;
  bool quiet = false;
};

std::uint64_t whole_number(const std::string& text, const std::string& whole) {
  std::uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw std::invalid_argument(
        fmt::format("--seeds {}: write a count (10) or a range (5..14)", whole));
  return v;
}

// "10": seeds 1 to 10; "5..14": those.
std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const bool range = dots != std::string::npos;
  const std::uint64_t first = range ? whole_number(text.substr(0, dots), text) : 1;
  const std::uint64_t last = whole_number(range ? text.substr(dots + 2) : text, text);
  if (last < first || last - first >= 1'000'000)
    throw std::invalid_argument(fmt::format("--seeds {}: there must be 1 to 1,000,000", text));
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t s = first; s <= last; ++s) seeds.push_back(s);
  return seeds;
}

// A tanh output cannot reach beyond ±1: say so before anything runs.
void check_target_range(const Dataset& data, const std::vector<Contender>& contenders,
                        std::size_t steps) {
  for (const Contender& c : contenders) {
    if (c.scaled || c.options.network.output_activation != OutputActivation::tanh) continue;
    for (std::size_t t = 0; t < std::min(steps, data.rows()); ++t)
      for (std::size_t k = 0; k < data.n_targets(); ++k)
        if (const double d = data.d(t)[k]; std::abs(d) > 1)
          throw DataError(fmt::format(
              "{}:{}: target {} in column \"{}\" is outside [-1,1], which the tanh output of {} "
              "cannot reach; add --scale, or --set output=identity",
              data.source, data.lines.empty() ? t + 1 : data.lines[t], d, data.target_names[k],
              c.name));
  }
}

void run(RunArguments& a) {
  const auto seeds = parse_seeds(a.seeds);
  if (a.stream.steps == 0 && is_generated(a.stream.data) && a.preset.empty())
    a.stream.steps = default_generated_steps;
  Dataset data = load_stream(a.stream);
  if (!a.preset.empty() && a.stream.steps == 0) {
    a.stream.steps =
        static_cast<std::size_t>(published_run_length(experiment_for(a.preset, data).first));
    if (is_generated(a.stream.data)) data = load_stream(a.stream);
  }
  const std::size_t steps =
      a.stream.steps == 0 ? data.rows() : std::min(a.stream.steps, data.rows());

  auto contenders = make_contenders(a.learners, a.preset, data, steps);
  for (Contender& c : contenders) {
    c.scaled = a.scale;
    if (a.hidden > 0) c.options.network.hidden = a.hidden;
    if (a.window > 0) c.options.network.window = a.window;
  }
  for (const std::string& assignment : a.set) apply_setting(contenders, assignment, steps);
  check_target_range(data, contenders, steps);
  if (!(target_variance(data, steps) > 0))
    throw DataError(fmt::format(
        "{}: the target does not vary over the {} rows used, so there is nothing to predict; "
        "choose another column with --target",
        data.source, steps));

  const bool to_stdout = a.json == "-";
  const ComparisonOptions options{.seeds = seeds,
                                  .evaluation = {.steps = steps,
                                                 .horizon = a.stream.horizon,
                                                 .stop_when_sustained = a.stop_when_sustained},
                                  .jobs = a.jobs};
  const auto outcomes = compare_with_progress(data.name, contenders, data, options,
                                              !a.quiet && view::is_terminal(stderr));

  if (!a.csv.empty()) write_file(a.csv, predictions_csv(data, outcomes));
  if (!a.plot.empty()) write_file(a.plot, learning_curves(data, outcomes));
  if (to_stdout)
    fmt::print("{}", results_json(data, outcomes));
  else if (!a.json.empty())
    write_file(a.json, results_json(data, outcomes));
  if (a.quiet) return;
  if (!to_stdout) {
    fmt::print("{}: {} rows, {} inputs, {} target{}; {} seed{}\n", data.source, steps,
               data.n_inputs(), data.n_targets(), data.n_targets() == 1 ? "" : "s", seeds.size(),
               seeds.size() == 1 ? "" : "s");
    if (!a.preset.empty()) {
      const auto [experiment, published] = experiment_for(a.preset, data);
      fmt::print("preset {}: {} {}\n", a.preset,
                 published ? "the published settings of"
                           : "nothing is published for this stream; the settings of",
                 to_string(experiment));
    }
    fmt::print("{}", comparison_table(outcomes, {.sustained = a.stop_when_sustained ||
                                                              data.name == "addition"}));
  }
  fmt::print(stderr, "{}", remarks(data, outcomes));
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  std::vector<std::string> learners;
  for (const LearnerName& l : learner_names()) learners.push_back(fmt::format("{}", l.name));

  CLI::App* cmd = app.add_subcommand(
      "run", "Predict a stream row by row, learning after each; compare learners");
  cmd->add_option("--data", a->stream.data,
                  "FILE (.csv .tsv .txt .jsonl .arff .mat) or gen:NAME[?k=v&...]")
      ->required();
  cmd->add_option("--learner", a->learners, fmt::format("{}", fmt::join(learners, ", ")))
      ->delimiter(',')
      ->capture_default_str();
  cmd->add_option("--preset", a->preset,
                  "paper (the text) or authors (the published experiments), with the settings "
                  "published for this stream or, as authors:STREAM, for another");
  cmd->add_option("--hidden", a->hidden, "LSTM units (default 16)")->check(CLI::PositiveNumber);
  cmd->add_option("--window", a->window, "Samples to back-propagate through (default 10)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--seeds", a->seeds, "How many random starts, or which: 10, 5..14")
      ->capture_default_str();
  cmd->add_option("--steps", a->stream.steps,
                  "Rows to use (default: all of a file, 5000 generated, the published number with "
                  "a preset)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--horizon", a->stream.horizon,
                  "Also score forecasts this many rows ahead (kNSE), given the inputs until then")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--target", a->stream.targets,
                  "Target columns, by name or number from 1 (default: the last)")
      ->delimiter(',');
  cmd->add_flag("--scale", a->scale,
                "Standardise inputs and map targets into range as they come, causally");
  cmd->add_option("--set", a->set,
                  "key=value for all learners or learner.key=value for one; may be repeated; "
                  "'kalstream inspect --learner L' lists the keys")
      ->allow_extra_args(false)
      ->take_all();
  cmd->add_flag("--stop-when-sustained", a->stop_when_sustained,
                "End a run after 500 correct signs in a row");
  cmd->add_option("--jobs", a->jobs,
                  fmt::format("Runs at a time (default: {}, one per core)", default_jobs()));
  cmd->add_option("--json", a->json, "Write results as JSON; - for standard output");
  cmd->add_option("--csv", a->csv, "Write every prediction as CSV");
  cmd->add_option("--plot", a->plot, "Draw the learning curves as SVG");
  cmd->add_flag("--quiet", a->quiet, "No table, no progress, no remarks");
  cmd->footer(
      "A schedule is written 0.1 (constant), 10..3 (linear over the run), 10..3@500 (over 500\n"
      "samples) or 1e-3~1e-6@500 (exponential, that time constant).\n"
      "NSE is the mean squared error over the variance of the target: 1 is as good as its mean.\n\n"
      "  kalstream run --data my.csv --scale --learner adam,alg2 --seeds 5\n"
      "  kalstream run --data my.csv --learner alg2 --set alg2.initial_covariance=10 --json -\n");
  cmd->callback([a] { run(*a); });
}

}  // namespace kalstream::cli
