// What the noise floor does: the figure and the table of docs/noise-floor.md.
//
//     make experiments && build/release/noise_floor STREAM OUT.svg [SEEDS]
//
// STREAM is a file or gen:…; Algorithm 2 runs with the `paper` preset and floors from 0 up, on the
// first 2,500 rows. Prints the table as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "data/source.h"
#include "eval/comparison.h"
#include "io/atomic_file.h"
#include "kalstream/presets.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "view/chart.h"
#include "view/table.h"

namespace {

using namespace kalstream;

constexpr std::size_t steps = 2500;

LearnerOptions text_with_floor(const Dataset& data, double floor) {
  const auto experiment = experiment_named(data.name).value_or(Experiment::kin8nm);
  LearnerOptions o = preset(Preset::paper, experiment, Algorithm2{}, steps);
  std::get<Algorithm2>(o.rule).expert.noise_floor = floor;
  return o;
}

// The largest |θ| of the expert with the smallest error bound, the one that learns the most.
std::vector<double> largest_weight_over_time(const Dataset& data, double floor, std::size_t rows) {
  const auto learner = make_contender({"alg2", text_with_floor(data, floor)}, data, 1);
  auto& mixture = dynamic_cast<Mixture&>(*learner);
  auto& expert = dynamic_cast<NetworkLearner&>(mixture.expert(mixture.size() - 1));
  std::vector<double> largest;
  for (std::size_t t = 0; t < rows; ++t) {
    learner->learn(data.x(t), data.d(t));
    double w = 0;
    for (const double v : expert.weights()) w = std::max(w, std::abs(v));
    largest.push_back(w);
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    fmt::print(stderr, "usage: noise_floor STREAM OUT.svg [SEEDS]\n");
    return 2;
  }
  const Dataset data = load(argv[1], steps);
  const std::size_t seeds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 10;
  ComparisonOptions options{.seeds = {}, .evaluation = {.steps = steps}};
  for (std::size_t s = 1; s <= seeds; ++s) options.seeds.push_back(s);

  std::vector<Contender> contenders;
  const std::vector<double> floors{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 3, 10};
  for (const double floor : floors)
    contenders.push_back({fmt::format("{}", floor), text_with_floor(data, floor)});
  const auto outcomes = compare(contenders, data, options);

  view::Table table({{"noise floor"}, {"NSE mean"}, {"5–95 %"}, {"updates"}, {"rejected"}});
  view::Series curve{.name = "Algorithm 2, text plus floor"};
  view::Series none{.name = "no floor (the text)", .dashed = true};
  for (std::size_t k = 0; k < floors.size(); ++k) {
    const Summary s = summarise(outcomes[k]);
    table.add_row({s.learner, fmt::format("{:.3f}", s.nse_mean),
                   fmt::format("{:.3f} – {:.3f}", s.nse_p05, s.nse_p95),
                   fmt::format("{:.0f} %", 100 * s.update_fraction),
                   fmt::format("{}", s.rejected_updates)});
    if (floors[k] == 0) {
      none.x = {floors[1], floors.back()};
      none.y = {s.nse_mean, s.nse_mean};
      continue;
    }
    curve.x.push_back(floors[k]);
    curve.y.push_back(s.nse_mean);
    curve.low.push_back(s.nse_p05);
    curve.high.push_back(s.nse_p95);
  }
  fmt::print("{}", table.to_markdown());

  const view::Panel error{.title = "Error",
                          .subtitle = fmt::format("{} seeds, mean and 5–95 %", seeds),
                          .x_label = "noise floor",
                          .y_label = "NSE",
                          .x_scale = view::Scale::log,
                          .series = {curve, none},
                          .y_low = 0};
  const view::Panel weights{.title = "Largest weight",
                            .subtitle = "of the expert with the smallest bound, seed 1",
                            .x_label = "samples seen",
                            .y_label = "largest |θ|",
                            .y_scale = view::Scale::log,
                            .series = {{.name = "Algorithm 2, text plus floor",
                                        .y = largest_weight_over_time(data, 0.5, 60)},
                                       {.name = "no floor (the text)",
                                        .y = largest_weight_over_time(data, 0, 60),
                                        .dashed = true}}};
  write_file(argv[2],
             view::line_chart({error, weights},
                              {.title = fmt::format("What the noise floor does, on {}", data.name),
                               .subtitle = "r = floor + 3 Tr(HPHᵀ)/n; right: floor 0.5 and none",
                               .columns = 2}));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "noise_floor: {}\n", error.what());
  return 1;
}
