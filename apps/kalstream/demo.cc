// kalstream demo: several learners side by side on a generated stream.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "checks.h"
#include "commands.h"
#include "comparison_view.h"
#include "contenders/contenders.h"
#include "data/source.h"
#include "io/atomic_file.h"
#include "run.h"
#include "view/progress.h"
#include "view/table.h"

namespace kalstream::cli {
namespace {

struct DemoArguments {
  std::string data = "gen:lorenz";
  std::size_t steps = 5000;
  std::string out = "kalstream-demo.svg";
};

void demo(const DemoArguments& a) {
  const auto start = std::chrono::steady_clock::now();
  const Dataset data = load(a.data, a.steps);
  const auto contenders = make_contenders({"adam", "alg2", "ekf", "auto"}, "", data);
  check_inputs(data, contenders);
  require_writable(a.out);
  fmt::print(
      "{} rows of {} arrive one by one. Each learner predicts a row before it sees the target,\n"
      "then learns from it: no training set, no second pass. Three random starts each.\n\n",
      data.rows(), data.source);
  const auto outcomes = compare_with_progress("learning", contenders, data, {.seeds = {1, 2, 3}},
                                              view::is_terminal(stderr));
  fmt::print("{}", comparison_table(outcomes, false));
  write_file(a.out, learning_curves(data, outcomes));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "\nNSE is the mean squared error over the variance of the target: 1 is as good as knowing\n"
      "its mean, 0 is perfect. Took {}. Learning curves: {}\n\n"
      "Next: kalstream run YOUR.csv    (raw data; kalstream --help has more)\n",
      view::format_seconds(seconds), std::filesystem::absolute(a.out).string());
}

}  // namespace

void add_demo(CLI::App& app) {
  auto a = std::make_shared<DemoArguments>();
  CLI::App* cmd = app.add_subcommand("demo", "Watch several learners on a generated stream");
  cmd->add_option("--data", a->data, "Another stream: FILE or gen:NAME[?k=v&...]")
      ->capture_default_str();
  cmd->add_option("--steps", a->steps, "Rows of it")
      ->check(whole_number(1, 1e12))
      ->capture_default_str();
  cmd->add_option("--out", a->out, "Where to draw the learning curves (SVG)")
      ->check(svg_name())
      ->capture_default_str();
  cmd->callback([a] { demo(*a); });
}

}  // namespace kalstream::cli
