#include "run_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"
#include "eval/contenders.h"
#include "eval/parallel.h"
#include "field_options.h"
#include "kalstream/forecaster.h"
#include "kalstream/settings.h"

namespace kalstream::cli {
namespace {

void add_data_options(CLI::App& cmd, RunArguments& a) {
  add_data(cmd, a.data);
  add_field_options(cmd, a.fields);
  add_column_names(cmd, a.columns);
  cmd.add_option(
         "--missing", a.missing,
         "Rows that lack inputs: refuse them (they are skipped), or hold the last values of "
         "these inputs")
      ->check(CLI::IsMember({"refuse", "hold"}))
      ->capture_default_str();
  cmd.add_option("--lags", a.lags,
                 "So many past targets are inputs as well: for a time series, which needs no "
                 "other inputs then")
      ->check(whole_number(1, 1e5));
  cmd.add_option("--steps", a.steps,
                 "Rows to use (default: all of a file, 5000 generated, the published number with "
                 "a preset)")
      ->check(whole_number(1, 1e12));
  cmd.add_option("--warm-up", a.warm_up,
                 "First rows to pass through without scoring or learning (default: none; 9 with a "
                 "preset, as published)")
      ->check(whole_number(0, 1e12));
  cmd.add_option("--horizon", a.horizon,
                 "Also score forecasts this many rows ahead (kNSE); inputs are held at their last "
                 "values, but for those of --future")
      ->check(whole_number(1, Forecaster::longest_horizon));
  add_time_options(cmd, a.time);
  cmd.add_option("--interval", a.interval,
                 "Bounds around every prediction that hold this fraction of targets, e.g. 0.9")
      ->check(CLI::Range(0.01, 0.999));
  add_surprise(cmd, a.surprise, a.alarm_rate);
}

void add_learner_options(CLI::App& cmd, RunArguments& a) {
  std::vector<std::string> learners;
  for (const LearnerName& l : learner_names()) learners.push_back(fmt::format("{}", l.name));
  cmd.add_option("--learner", a.learners, fmt::format("{}", fmt::join(learners, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  cmd.add_option("--preset", a.preset,
                 "paper (the text) or authors (the published experiments), with the settings "
                 "published for this stream or, as authors:STREAM, for another");
  cmd.add_option("--loss", a.loss,
                 "What an error costs: squared; poisson, of counts; huber, where some are far off; "
                 "quantile, for --set quantile=0.9 of the targets below")
      ->check(CLI::IsMember(losses_of_numbers()))
      ->capture_default_str();
  cmd.add_option("--hidden", a.hidden, "Units (default 16); auto: a measure of its networks' size")
      ->check(whole_number(1, 1e6));
  cmd.add_option("--window", a.window, "Samples to back-propagate through (default 10)")
      ->check(whole_number(1, 1e6));
  CLI::Option* experts =
      cmd.add_option("--experts", a.experts,
                     "Networks that auto uses, the most useful first (default: all)")
          ->check(whole_number(1, 1e3));
  cmd.add_option("--budget-us", a.budget_us,
                 "As many of them as keep a sample within this many microseconds on this machine; "
                 "measured at the start")
      ->check(whole_number(1, 1e9))
      ->excludes(experts);
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
