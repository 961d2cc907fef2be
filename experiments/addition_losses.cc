// Binary addition by squared error and by cross-entropy, for docs/losses.md.
//
//     build/release/addition_losses [STREAMS [n …]]
//
// EKF as published (preset `authors`), with targets ±0.5 and a tanh output, and the same under
// cross-entropy, on bits, with r = 1; STREAMS generated streams (5) for n = 3, 4, 5. A run ends
// with the row that completes 500 correct bits, or after 100,000. Prints the table as Markdown.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/generators.h"
#include "kalstream/learner.h"
#include "kalstream/presets.h"

namespace {

using namespace kalstream;

constexpr std::size_t longest = 100'000;
constexpr int sustained = 500;

LearnerOptions options_for(bool classes, std::size_t inputs) {
  LearnerOptions o = preset(Preset::authors, Experiment::addition, Ekf{}, longest);
  o.network.inputs = inputs;
  if (!classes) return o;
  o.loss.kind = Loss::Kind::cross_entropy;
  std::get<Ekf>(o.rule).measurement_noise = 1;
  return o;
}

// Rows until 500 in a row were right, or `longest`.
std::size_t steps_to_sustained(const Dataset& data, bool classes) {
  const auto learner = make_learner(options_for(classes, data.n_inputs()));
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
  const int streams = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<std::string> numbers{"3", "4", "5"};
  if (argc > 2) numbers.assign(argv + 2, argv + argc);
  std::printf("| n | loss | steps, stream by stream | median | seconds each |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const std::string& n : numbers)
    for (const bool classes : {false, true}) {
      std::vector<std::size_t> steps;
      std::string listed;
      const auto start = std::chrono::steady_clock::now();
      for (int k = 1; k <= streams; ++k) {
        const Dataset data = generate("addition?n=" + n + "&seed=" + std::to_string(k), longest);
        steps.push_back(steps_to_sustained(data, classes));
        listed += (k == 1 ? "" : ", ") +
                  (steps.back() < longest ? std::to_string(steps.back()) : "failed");
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      std::sort(steps.begin(), steps.end());
      std::printf("| %s | %s | %s | %zu | %.1f |\n", n.c_str(),
                  classes ? "cross-entropy" : "squared", listed.c_str(), steps[steps.size() / 2],
                  taken.count() / streams);
      std::fflush(stdout);
    }
}
