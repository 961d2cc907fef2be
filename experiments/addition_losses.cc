// Binary addition by squared error and by cross-entropy, for docs/losses.md.
//
//     make experiments && build/release/addition_losses [THREADS [SEEDS [n …]]]
//
// EKF on five generated streams for each of n = 3, 4, 5, with SEEDS starts of the network each (1):
// as published (preset `authors`); with standardised inputs and the process noise of auto-max's
// EKF; and so under cross-entropy, on bits. All have the same network and P at the start, and each
// its own r. Then `auto-max` as it is, by either error. A run ends with the row that completes 500
// correct bits, or after 100,000. Prints the table as Markdown.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/workers.h"
#include "data/generators.h"
#include "kalstream/learner.h"
#include "kalstream/presets.h"

namespace {

using namespace kalstream;

constexpr std::size_t longest = 100'000;
constexpr std::size_t streams = 5;
constexpr int sustained = 500;

enum class Way { published, standardised, cross_entropy, max_squared, max_cross_entropy };

bool is_of_classes(Way way) { return way == Way::cross_entropy || way == Way::max_cross_entropy; }

const char* name_of(Way way) {
  switch (way) {
    case Way::published:
      return "squared, as published";
    case Way::standardised:
      return "squared, standardised";
    case Way::cross_entropy:
      return "cross-entropy, standardised";
    case Way::max_squared:
      return "`auto-max`, squared";
    default:
      return "`auto-max`, cross-entropy";
  }
}

std::unique_ptr<Learner> make(Way way, std::size_t inputs, std::uint64_t seed) {
  if (way == Way::max_squared || way == Way::max_cross_entropy) {
    LearnerOptions all{.rule = Auto{.full_ekf = true}};
    all.network.inputs = inputs;
    all.network.seed = seed;
    if (is_of_classes(way)) all.loss.kind = Loss::Kind::cross_entropy;
    return make_learner(all);
  }
  LearnerOptions o = preset(Preset::authors, Experiment::addition, Ekf{}, longest);
  o.network.inputs = inputs;
  o.network.seed = seed;
  if (way == Way::published) return make_learner(o);
  auto& rule = std::get<Ekf>(o.rule);
  rule.process_noise = Schedule::exponential(1e-3, 1e-6, 2000);
  rule.measurement_noise = 1;  // of targets ±0.27
  if (way == Way::cross_entropy) {
    rule.measurement_noise = 33;
    o.loss = {.kind = Loss::Kind::cross_entropy, .link_scale = 8};
  }
  return make_scaled_learner(o);
}

// Rows until 500 in a row were right, or `longest`.
std::size_t steps_to_sustained(const Dataset& data, Way way, std::uint64_t seed) {
  const auto learner = make(way, data.n_inputs(), seed);
  const bool classes = is_of_classes(way);
  int right = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const bool bit = data.d(t)[0] > 0;
    if (t < published_warm_up) {
      learner->advance(data.x(t));
      continue;
    }
    const double d_hat = learner->predict(data.x(t))[0];
    right = (d_hat > (classes ? 0.5 : 0)) == bit ? right + 1 : 0;
    if (right == sustained) return t + 1 - published_warm_up;
    const double d = classes ? (bit ? 1 : 0) : data.d(t)[0];
    learner->learn(data.x(t), std::vector{d});
  }
  return longest;
}

}  // namespace

int main(int argc, char** argv) {
  const auto threads = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 2);
  const auto seeds = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 1);
  std::vector<std::string> numbers{"3", "4", "5"};
  if (argc > 3) numbers.assign(argv + 3, argv + argc);
  Workers workers(threads);
  std::printf("| n | error | sustained | median steps | of the first start, stream by stream |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const std::string& n : numbers)
    for (const Way way : {Way::published, Way::standardised, Way::cross_entropy, Way::max_squared,
                          Way::max_cross_entropy}) {
      std::vector<std::size_t> steps(streams * seeds);  // start after start
      workers.run(steps.size(), [&](std::size_t k) {
        const std::string seed = std::to_string(k % streams + 1);
        const Dataset data = generate("addition?n=" + n + "&seed=" + seed, longest);
        steps[k] = steps_to_sustained(data, way, k / streams + 1);
      });
      std::string listed;
      for (std::size_t k = 0; k < streams; ++k)
        listed += (k == 0 ? "" : ", ") + std::to_string(steps[k]);
      std::sort(steps.begin(), steps.end());
      const auto failed = static_cast<std::size_t>(std::count(steps.begin(), steps.end(), longest));
      std::printf("| %s | %s | %zu of %zu | %zu | %s |\n", n.c_str(), name_of(way),
                  steps.size() - failed, steps.size(), steps[steps.size() / 2], listed.c_str());
      std::fflush(stdout);
    }
}
