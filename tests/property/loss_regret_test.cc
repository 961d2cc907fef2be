// Mixtures under other losses than the paper's, against their experts.
//
// Cross-entropy: with η = 1, exp(−ℓ) is the probability itself, which mixes as the prediction does:
// L_A = −ln Σ_j exp(−L_j)/N exactly, and so L_A − L_j ≤ ln N for any stream and any experts,
// without bounds on anything. Poisson: the same for the mixture of the experts' distributions, not
// for its mean alone. Huber and quantile are convex, and no more: L_A − L_j ≤ ln N/η + ηTM²/8 for
// losses in [0, M], which grows with T.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "learner/mixture.h"
#include "support.h"

namespace kalstream {
namespace {

using test::normals;
using test::Vector;
using Kind = Loss::Kind;

constexpr std::size_t length = 1000;
constexpr double rounding = 1e-9;

/// A target for step t, which may depend on the mixture's prediction.
using Adversary = std::function<Vector(std::size_t t, std::span<const double> d_hat, Rng& rng)>;

Vector one_hot(std::size_t n, std::size_t k) {
  if (n == 1) return {k == 0 ? 0.0 : 1.0};
  Vector d(n);
  d[k % n] = 1;
  return d;
}

std::size_t least_likely(std::span<const double> p) {
  if (p.size() == 1) return p[0] > 0.5 ? 0 : 1;
  return static_cast<std::size_t>(std::min_element(p.begin(), p.end()) - p.begin());
}

std::vector<std::pair<std::string, Adversary>> labels() {
  return {{"noise", [](std::size_t, auto p, Rng& rng) { return one_hot(p.size(), rng.below(3)); }},
          {"against_the_prediction",
           [](std::size_t, auto p, Rng&) { return one_hot(p.size(), least_likely(p)); }},
          {"blocks", [](std::size_t t, auto p, Rng&) { return one_hot(p.size(), t / 50 % 3); }},
          {"always_the_same", [](std::size_t, auto p, Rng&) { return one_hot(p.size(), 1); }},
          {"a_late_surprise",
           [](std::size_t t, auto p, Rng&) { return one_hot(p.size(), t < length / 2 ? 0 : 1); }}};
}

struct Losses {
  double of_mixture = 0;
  Vector of_experts;
  double most_in_a_step = 0;

  double regret() const {
    return of_mixture - *std::min_element(of_experts.begin(), of_experts.end());
  }
  /// −(1/η) ln Σ_j exp(−ηL_j)/N.
  double mixed(double eta) const {
    const double best = *std::min_element(of_experts.begin(), of_experts.end());
    double sum = 0;
    for (const double l : of_experts) sum += std::exp(-eta * (l - best));
    return best - std::log(sum / static_cast<double>(of_experts.size())) / eta;
  }
};

/// Plays the stream; `after(losses, t)` checks.
void play(Mixture& mixture, const Loss& loss, const Adversary& adversary, const auto& after) {
  const LossFunction of(loss, mixture.outputs());
  Losses losses{.of_experts = Vector(mixture.size())};
  Rng rng(7);
  for (std::size_t t = 0; t < length && !testing::Test::HasFailure(); ++t) {
    const Vector x = normals(rng, mixture.inputs());
    const Vector d_hat = test::copy(mixture.predict(x));
    const Vector d = adversary(t, d_hat, rng);
    for (std::size_t j = 0; j < mixture.size(); ++j) {
      const double l = of.of(d, mixture.expert(j).predict(x));
      losses.of_experts[j] += l;
      losses.most_in_a_step = std::max(losses.most_in_a_step, l);
    }
    losses.of_mixture += of.of(d, d_hat);
    ASSERT_NE(mixture.learn(x, d).status, StepStatus::rejected_input);
    after(losses, t);
  }
}

std::unique_ptr<Learner> algorithm2(std::size_t n_d, const Loss& loss) {
  Algorithm2 rule;
  rule.expert.initial_covariance = 2;
  rule.mixing_rate.reset();
  return make_learner({test::small_network(1, 2, n_d), rule, 0, loss});
}

class LabelRegret : public testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t n_d = GetParam() % 2 == 0 ? 1 : 3;
  const Adversary adversary = labels()[GetParam() / 2].second;
  const Loss loss{Kind::cross_entropy};

  void expect_bound(Mixture& mixture) {
    const double most = std::log(static_cast<double>(mixture.size()));
    play(mixture, loss, adversary, [&](const Losses& l, std::size_t t) {
      EXPECT_LE(l.regret(), most + rounding) << t;
      EXPECT_NEAR(l.of_mixture, l.mixed(1), 1e-7 * (1 + l.of_mixture)) << t;
    });
  }
};

TEST_P(LabelRegret, OfAlgorithm2IsAtMostLnN) {
  const auto learner = algorithm2(n_d, loss);
  expect_bound(dynamic_cast<Mixture&>(*learner));
}

INSTANTIATE_TEST_SUITE_P(Streams, LabelRegret, testing::Range(std::size_t{0}, 2 * labels().size()),
                         [](const auto& one) {
                           return labels()[one.param / 2].first +
                                  (one.param % 2 == 0 ? "_two" : "_three");
                         });

// The probability that the mixture of the experts' distributions had for every count.
TEST(CountRegret, OfTheDistributionIsAtMostLnN) {
  const Loss loss{Kind::poisson};
  const auto learner = algorithm2(1, loss);
  auto& mixture = dynamic_cast<Mixture&>(*learner);
  double of_mixture = 0;
  Vector before = test::copy(mixture.state().weights);
  Vector last(mixture.size());
  play(
      mixture, loss,
      [](std::size_t t, auto, Rng& rng) {
        return Vector{std::floor((t / 100 % 2 == 0 ? 2 : 30) * rng.uniform())};
      },
      [&](const Losses& l, std::size_t t) {
        double probability = 0;
        for (std::size_t j = 0; j < before.size(); ++j)
          probability += before[j] * std::exp(-(l.of_experts[j] - last[j]));
        of_mixture -= std::log(probability);
        EXPECT_NEAR(of_mixture, l.mixed(1), 1e-7 * (1 + std::abs(of_mixture))) << t;
        before = test::copy(mixture.state().weights);
        last = l.of_experts;
      });
}

TEST(ConvexRegret, GrowsNoFasterThanItsBound) {
  for (const Loss& loss : {Loss{Kind::huber, 0.2}, Loss{Kind::quantile, 0.1, 0.7}})
    for (const std::size_t n_d : {1, 2}) {
      const auto learner = algorithm2(n_d, loss);
      auto& mixture = dynamic_cast<Mixture&>(*learner);
      const double eta = LossFunction(loss, n_d).mixing_rate();
      play(
          mixture, loss,
          [](std::size_t t, auto d_hat, Rng& rng) {
            Vector d(d_hat.size());
            for (std::size_t k = 0; k < d.size(); ++k)
              d[k] = t / 200 % 2 == 0 ? rng.uniform(-1, 1) : d_hat[k] > 0 ? -1 : 1;
            return d;
          },
          [&](const Losses& l, std::size_t t) {
            const double M = l.most_in_a_step;
            EXPECT_LE(l.regret(), std::log(static_cast<double>(mixture.size())) / eta +
                                      eta * static_cast<double>(t + 1) * M * M / 8 + rounding);
          });
    }
}

}  // namespace
}  // namespace kalstream
