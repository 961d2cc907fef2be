// Binary addition by squared error and by cross-entropy, for docs/losses.md.
//
//     build/release/addition_losses [THREADS [SEEDS [n …]]]
//
// EKF as published (preset `authors`), with targets ±0.5 and a tanh output; and the same network
// and P under cross-entropy, on bits, with r = 24 and link_scale = 8. Five generated streams for
// each of n = 3, 4, 5, SEEDS starts of the network each (3). A run ends with the row that completes
// 500 correct bits, or after 100,000. Prints the table as Markdown.
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

LearnerOptions options_for(bool classes, std::size_t inputs, std::uint64_t seed) {
  LearnerOptions o = preset(Preset::authors, Experiment::addition, Ekf{}, longest);
  o.network.inputs = inputs;
  o.network.seed = seed;
  if (!classes) return o;
  o.loss = {.kind = Loss::Kind::cross_entropy, .link_scale = 8};
  auto& rule = std::get<Ekf>(o.rule);
  rule.measurement_noise = 24;
  return o;
}

// Rows until 500 in a row were right, or `longest`.
std::size_t steps_to_sustained(const Dataset& data, bool classes, std::uint64_t seed) {
  const auto learner = make_learner(options_for(classes, data.n_inputs(), seed));
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
  const auto seeds = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 3);
  std::vector<std::string> numbers{"3", "4", "5"};
  if (argc > 3) numbers.assign(argv + 3, argv + argc);
  Workers workers(threads);
  std::printf("| n | loss | sustained | median steps | of the first start, stream by stream |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const std::string& n : numbers)
    for (const bool classes : {false, true}) {
      std::vector<std::size_t> steps(streams * seeds);  // start after start
      workers.run(steps.size(), [&](std::size_t k) {
        const std::string seed = std::to_string(k % streams + 1);
        const Dataset data = generate("addition?n=" + n + "&seed=" + seed, longest);
        steps[k] = steps_to_sustained(data, classes, k / streams + 1);
      });
      std::string listed;
      for (std::size_t k = 0; k < streams; ++k)
        listed += (k == 0 ? "" : ", ") + std::to_string(steps[k]);
      std::sort(steps.begin(), steps.end());
      const auto failed = std::count(steps.begin(), steps.end(), longest);
      std::printf("| %s | %s | %zu of %zu | %zu | %s |\n", n.c_str(),
                  classes ? "cross-entropy" : "squared", steps.size() - failed, steps.size(),
                  steps[steps.size() / 2], listed.c_str());
      std::fflush(stdout);
    }
}
