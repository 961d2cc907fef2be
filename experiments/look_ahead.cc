// What the look-ahead in the published kNSE of Algorithm 2 is worth: the table of
// docs/reproduction.md.
//
//     make experiments && build/release/look_ahead STREAM [SEEDS]
//
// STREAM is kin8nm.csv or the like; settings are the `authors` preset's. The published programs
// re-weight the experts with the very targets they forecast before they mix the forecasts. This
// program mixes Algorithm 1 instances by hand, once honestly and once with that leak; nothing else
// in kalstream can look ahead.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "contenders/contenders.h"
#include "data/source.h"
#include "eval/comparison.h"
#include "eval/parallel.h"
#include "eval/statistics.h"
#include "kalstream/presets.h"

namespace {

using namespace kalstream;

constexpr std::size_t horizon = 50;

// Σ w_j d̂_j / Σ w_j with w_j = exp(log_w_j).
double mixed(const std::vector<double>& log_w, const std::vector<double>& d_hat) {
  const double top = *std::max_element(log_w.begin(), log_w.end());
  double sum = 0;
  double weights = 0;
  for (std::size_t j = 0; j < log_w.size(); ++j) {
    const double w = std::exp(log_w[j] - top);
    sum += w * d_hat[j];
    weights += w;
  }
  return sum / weights;
}

struct Knse {
  double honest = 0;
  double leaking = 0;
};

Knse run(const Dataset& data, const LearnerOptions& options, std::uint64_t seed, std::size_t last) {
  const auto& mixture = std::get<Algorithm2>(options.rule);
  std::vector<std::unique_ptr<Learner>> experts;
  std::vector<double> log_w;
  for (std::size_t j = 0; j < mixture.error_bounds.size(); ++j) {
    Algorithm1 rule = mixture.expert;
    rule.error_bound = mixture.error_bounds[j];
    experts.push_back(make_contender({"alg1", {options.network, rule}}, data, seed));
    log_w.push_back(std::log(mixture.prior_weights[j]));
  }

  const double rate = *mixture.mixing_rate;
  std::vector<double> honest;
  std::vector<double> leaking;
  std::vector<double> scored;
  std::vector<double> ahead(horizon);
  for (std::size_t t = 0; t < last; ++t) {
    const double d = data.d(t)[0];
    for (std::size_t j = 0; j < experts.size(); ++j) {
      if (t < published_warm_up) {
        experts[j]->advance(data.x(t));
        continue;
      }
      const double e = d - experts[j]->predict(data.x(t))[0];
      experts[j]->learn(data.x(t), data.d(t));
      log_w[j] -= rate * e * e;
    }
    if (t < published_warm_up) continue;
    scored.push_back(d);

    std::vector<double> at_the_end;
    std::vector<double> with_hindsight = log_w;
    for (std::size_t j = 0; j < experts.size(); ++j) {
      const auto inputs =
          std::span(data.inputs).subspan((t + 1) * data.n_inputs(), horizon * data.n_inputs());
      experts[j]->forecast(horizon, inputs, ahead);
      at_the_end.push_back(ahead.back());
      for (std::size_t k = 0; k < horizon; ++k) {
        const double e = data.d(t + 1 + k)[0] - ahead[k];
        with_hindsight[j] -= rate * e * e;
      }
    }
    const double target = data.d(t + horizon)[0];
    honest.push_back(std::pow(target - mixed(log_w, at_the_end), 2));
    leaking.push_back(std::pow(target - mixed(with_hindsight, at_the_end), 2));
  }
  return {mean(honest) / variance(scored), mean(leaking) / variance(scored)};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: look_ahead STREAM [SEEDS]\n");
    return 2;
  }
  const std::size_t seeds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20;
  const Dataset probe = load(argv[1], 1);
  const Experiment experiment = experiment_for("authors", probe).first;
  const double run_length = published_run_length(experiment);
  const std::size_t last = published_warm_up + static_cast<std::size_t>(run_length);
  const Dataset data = load(argv[1], last + horizon);
  const LearnerOptions options = preset(Preset::authors, experiment, Algorithm2{}, run_length);

  std::vector<Knse> runs(seeds);
  parallel_for(seeds, 0, [&](std::size_t s) { runs[s] = run(data, options, s + 1, last); });
  std::vector<double> honest;
  std::vector<double> leaking;
  for (const Knse& k : runs) {
    honest.push_back(k.honest);
    leaking.push_back(k.leaking);
  }
  fmt::print("| {} | {:.4f} | {:.4f} | {:.1f} % |\n", data.name, mean(honest), mean(leaking),
             100 * (1 - mean(leaking) / mean(honest)));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "look_ahead: {}\n", error.what());
  return 1;
}
