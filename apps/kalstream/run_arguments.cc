#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "commands.h"
#include "eval/parallel.h"
#include "kalstream/settings.h"
#include "run.h"
#include "stream_options.h"

namespace kalstream::cli {
namespace {

void add_data_options(CLI::App& cmd, RunArguments& a) {
  add_data(cmd, a.data);
  add_field_settings(cmd, a.settings);
  add_column_names(cmd, a.columns);
  add_settings(cmd, a.settings, {"missing", "lags"});
  cmd.add_option("--steps", a.steps,
                 "Rows to use (default: all of a file, 5000 generated, the published number with "
                 "a preset)")
      ->check(whole_number(1, 1e12));
  cmd.add_option("--warm-up", a.warm_up,
                 "First rows to pass through without scoring or learning (default: none; 9 with a "
                 "preset, as published)")
      ->check(whole_number(0, 1e12));
  cmd.add_option("--delay", a.delay,
                 "Targets come so many rows late: predictions and forecasts do without the last "
                 "ones")
      ->check(whole_number(1, ModelOptions::longest_delay));
  add_settings(cmd, a.settings,
               {"max-delay", "horizon", "period", "future", "elapsed", "interval", "surprise",
                "alarm-rate", "strangeness", "alarm-above", "alarm-below"});
}

void add_learner_options(CLI::App& cmd, RunArguments& a) {
  const auto learners = learner_names() | std::views::transform(&LearnerName::name);
  cmd.add_option("--learner", a.learners, fmt::format("{}", fmt::join(learners, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  cmd.add_option("--preset", a.preset,
                 "paper (the text) or authors (the published experiments), with the settings "
                 "published for this stream or, as authors:STREAM, for another");
  add_settings(cmd, a.settings, {"loss", "hidden", "window", "experts", "budget-us"});
  cmd.get_option("--budget-us")->excludes(cmd.get_option("--experts"));
  cmd.add_option("--seeds", a.seeds, "How many random starts, or which: 10, 5..14")
      ->capture_default_str();
  cmd.add_option("--set", a.set,
                 "key=value ... for all learners, learner.key=value for one; 'kalstream inspect "
                 "--learner L' lists the keys");
  add_scaling(cmd, a.scaling);
  CLI::Option* start = cmd.add_option("--start,--resume", a.start,
                                      "Begin with the learner that --save or a stream has kept");
  for (const char* decided :
       {"--learner", "--preset", "--hidden", "--window", "--seeds", "--lags", "--loss", "--scale",
        "--unscaled", "--set", "--experts", "--budget-us"})
    start->excludes(cmd.get_option(decided));
  cmd.add_flag("--stop-when-sustained", a.stop_when_sustained,
               "End a run after 500 correct signs in a row; of a target with two values, such as 0 "
               "and 1, the nearer one");
  cmd.add_option(
         "--jobs", a.jobs,
         fmt::format("Threads (default: {}, one per core): as many runs at a time; if there "
                     "are fewer, the experts of auto and alg2 and large ekf share the rest",
                     default_jobs()))
      ->check(whole_number(0, 1e4));
}

void add_output_options(CLI::App& cmd, RunArguments& a) {
  cmd.add_option("--json", a.json, "Write results as JSON; - for standard output");
  cmd.add_option("--csv", a.csv,
                 "Write every prediction, with its bounds and forecasts, as CSV; - for standard "
                 "output");
  cmd.add_option("--plot", a.plot, "Draw the learning curves as SVG")->check(svg_name());
  CLI::Option* predictions =
      cmd.add_option("--plot-predictions", a.plot_predictions,
                     "Draw predictions, with their bounds, and targets of the last rows as SVG")
          ->check(svg_name());
  cmd.add_option("--plot-rows", a.plot_rows, "How many rows that shows")
      ->check(whole_number(2, 1e6))
      ->capture_default_str()
      ->needs(predictions);
  cmd.add_option("--plot-weights", a.plot_weights,
                 "Draw what each expert of auto, auto-max and alg2 counts over time as SVG")
      ->check(svg_name());
  cmd.add_option("--save", a.save,
                 "Keep all that was learnt in a file, to go on from with --start; for one learner "
                 "and one seed");
  cmd.add_flag("--quiet", a.quiet, "No table, no progress, no remarks");
}

}  // namespace

void add_run_options(CLI::App& cmd, RunArguments& a) {
  add_data_options(cmd, a);
  add_learner_options(cmd, a);
  add_output_options(cmd, a);
  cmd.footer(
      "A schedule is written 0.1 (constant), 10..3 (linear over the run), 10..3@500 (over 500\n"
      "samples) or 1e-3~1e-6@500 (exponential, that time constant).\n"
      "NSE is the mean squared error over the variance of the target: 1 is as good as its mean.\n\n"
      "  kalstream run my.csv --plot curve.svg\n"
      "  kalstream run my.csv --interval 0.9 --plot-predictions predictions.svg\n"
      "  kalstream run series.csv --horizon 5 --learner naive,ar,auto --budget-us 50\n"
      "  kalstream run my.csv --learner adam,alg2,auto --seeds 5\n"
      "  kalstream run my.csv --learner alg2 --set alg2.initial_covariance=10 --json -\n");
}

}  // namespace kalstream::cli
