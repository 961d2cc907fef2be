// Algorithm 2 against its experts: L_A − L_j ≤ 8 n_d ln N for every expert, at every step, on any
// stream in [−1,1] (Appendix B). And the inequality behind it, which is sharper: with η = 1/(8 n_d)
// the squared loss is exp-concave, so L_A ≤ −(1/η) ln Σ_j exp(−η L_j)/N.
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

constexpr std::size_t length = 3000;
constexpr double rounding = 1e-9;  // of sums of thousands of squares

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

/// A target in [−1,1]^n_d for step t, which may depend on the mixture's prediction.
using Adversary = std::function<Vector(std::size_t t, std::span<const double> d_hat, Rng& rng)>;

std::vector<std::pair<std::string, Adversary>> adversaries() {
  const auto each = [](std::span<const double> d_hat, const auto& f) {
    Vector d(d_hat.size());
    for (std::size_t k = 0; k < d.size(); ++k) d[k] = f(d_hat[k]);
    return d;
  };
  const auto constant = [each](double value) {
    return [=](std::size_t, std::span<const double> d_hat, Rng&) {
      return each(d_hat, [&](double) { return value; });
    };
  };
  return {
      {"random_signs",
       [=](std::size_t, auto d_hat, Rng& rng) {
         return each(d_hat, [&](double) { return rng.uniform() < 0.5 ? -1.0 : 1.0; });
       }},
      {"noise", [=](std::size_t, auto d_hat,
                    Rng& rng) { return each(d_hat, [&](double) { return rng.uniform(-1, 1); }); }},
      {"against_the_prediction",
       [=](std::size_t, auto d_hat, Rng&) {
         return each(d_hat, [](double p) { return p > 0 ? -1.0 : 1.0; });
       }},
      {"alternating_blocks",
       [=](std::size_t t, auto d_hat, Rng&) {
         return each(d_hat, [&](double) { return t / 50 % 2 == 0 ? 1.0 : -1.0; });
       }},
      {"sudden_switch",
       [=](std::size_t t, auto d_hat, Rng& rng) {
         const double level = t < length / 2 ? 0.02 : -1;
         return each(d_hat,
                     [&](double) { return level + (t < length / 2 ? 0.01 * rng.normal() : 0); });
       }},
      {"constant_plus_one", constant(1)},
      {"constant_minus_one", constant(-1)},
      {"constant_zero", constant(0)},
      {"small_then_large",
       [=](std::size_t t, auto d_hat, Rng& rng) {
         const double scale = t % 500 < 400 ? 0.05 : 1;
         return each(d_hat, [&](double) { return scale * rng.uniform(-1, 1); });
       }},
  };
}

// Plays the stream and checks both inequalities at every step; returns the largest regret.
double play(Mixture& mixture, const Adversary& adversary, std::uint64_t seed) {
  const std::size_t N = mixture.size();
  const auto n_d = static_cast<double>(mixture.outputs());
  const double eta = 1 / (8 * n_d);
  const double bound = 8 * n_d * std::log(static_cast<double>(N));
  Rng rng(seed);
  double L = 0;
  Vector L_expert(N);
  std::vector<Vector> d_hats(N);
  double largest = 0;
  for (std::size_t t = 0; t < length; ++t) {
    const Vector x = normals(rng, mixture.inputs());
    for (std::size_t j = 0; j < N; ++j) {
      const auto d_hat = mixture.expert(j).predict(x);
      d_hats[j].assign(d_hat.begin(), d_hat.end());
    }
    const auto prediction = mixture.predict(x);
    const Vector d_hat(prediction.begin(), prediction.end());
    const Vector d = adversary(t, d_hat, rng);
    L += squared_distance(d, d_hat);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < N; ++j) {
      L_expert[j] += squared_distance(d, d_hats[j]);
      best = std::min(best, L_expert[j]);
      EXPECT_LE(L - L_expert[j], bound + rounding) << "expert " << j << ", step " << t;
    }
    double sum = 0;
    for (const double l : L_expert) sum += std::exp(-eta * (l - best)) / static_cast<double>(N);
    EXPECT_LE(L, best - std::log(sum) / eta + rounding) << "step " << t;
    largest = std::max(largest, L - best);
    mixture.learn(x, d);
    if (testing::Test::HasFailure()) break;
  }
  return largest;
}

class Regret : public testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t n_d = 1 + GetParam() % 2;
  const Adversary adversary = adversaries()[GetParam() / 2].second;
};

TEST_P(Regret, OfAlgorithm2) {
  auto network = test::small_network(1, 2, n_d);
  Algorithm2 rule;
  rule.expert.initial_covariance = 2;
  rule.mixing_rate.reset();  // 1/(8 n_d): the bound is not proven, and does not hold, for more
  const auto learner = make_learner({network, rule});
  auto& mixture = dynamic_cast<Mixture&>(*learner);
  ASSERT_EQ(mixture.size(), halving_error_bounds(n_d).size());
  play(mixture, adversary, 41);
}

/// Predicts one value for ever.
class Constant final : public Learner {
 public:
  Constant(std::size_t outputs, double value) : value_(outputs, value) {}
  std::size_t inputs() const override { return 1; }
  std::size_t outputs() const override { return value_.size(); }
  std::uint64_t samples() const override { return 0; }
  LearnerState state() const override { return {}; }
  std::span<const double> predict(std::span<const double>) override { return value_; }
  StepReport learn(std::span<const double>, std::span<const double>) override { return {}; }
  StepReport advance(std::span<const double>) override { return {}; }
  void start_forecast() override {}
  std::span<const double> forecast_next(std::span<const double>) override { return value_; }
  std::unique_ptr<Learner> clone() const override { return std::make_unique<Constant>(*this); }
  void reset() override {}
  void exchange(Archive&) override {}

 private:
  Vector value_;
};

std::unique_ptr<Mixture> constants(std::size_t n_d, const Vector& values) {
  std::vector<std::unique_ptr<Learner>> experts;
  for (const double v : values) experts.push_back(std::make_unique<Constant>(n_d, v));
  return std::make_unique<Mixture>(
      std::move(experts), MixtureOptions{Vector(values.size(), 1.0), 1 / (8.0 * double(n_d)), {}});
}

// Experts as far apart as they can be.
TEST_P(Regret, OfAMixtureOfConstants) {
  play(*constants(n_d, {-1, 1}), adversary, 42);
  play(*constants(n_d, {-1, -0.5, 0, 0.5, 1, 1, 1, 1}), adversary, 43);
}

INSTANTIATE_TEST_SUITE_P(Streams, Regret, testing::Range(std::size_t{0}, 2 * adversaries().size()),
                         [](const auto& one) {
                           return adversaries()[one.param / 2].first + "_d" +
                                  std::to_string(1 + one.param % 2);
                         });

// One expert of 64 is right: the mixture has to pay to find it, and pays no more than the bound.
TEST(RegretIsPaid, ToFindTheOneGoodExpert) {
  Vector values(64, -1.0);
  values[17] = 1;
  const auto mixture = constants(1, values);
  const double largest = play(
      *mixture, [](std::size_t, auto, Rng&) { return Vector{1}; }, 44);
  EXPECT_GT(largest, 4);
  const auto report = mixture->learn(Vector{0}, Vector{1});
  EXPECT_GT(report.weights[17], 1 - 1e-12);
}

// w_j ∝ prior_j·exp(−η L_j) and d̂ = Σ w_j d̂_j, from the definition.
TEST(MixtureWeights, FollowTheirDefinition) {
  const Vector values{-0.5, 0.1, 0.9};
  const Vector prior{1, 2, 0.5};
  const double eta = 0.7;
  std::vector<std::unique_ptr<Learner>> experts;
  for (const double v : values) experts.push_back(std::make_unique<Constant>(1, v));
  Mixture mixture(std::move(experts), {prior, eta, Feedback::own});
  Vector w = prior;
  Rng rng(45);
  for (int t = 0; t < 30; ++t) {
    double sum = 0;
    double mean = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += w[j], mean += w[j] * values[j];
    EXPECT_NEAR(mixture.predict(Vector{0})[0], mean / sum, 1e-14);
    const double d = rng.uniform(-1, 1);
    const auto report = mixture.learn(Vector{0}, Vector{d});
    sum = 0;
    for (std::size_t j = 0; j < 3; ++j)
      sum += w[j] *= std::exp(-eta * (d - values[j]) * (d - values[j]));
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(report.weights[j], w[j] / sum, 1e-13);
  }
}

// 10⁵ losses of 4 underflow exp(−ηL) many times over; the best expert keeps its weight.
TEST(MixtureWeights, SurviveALongLife) {
  const auto mixture = constants(1, {-1, -0.9});
  StepReport report;
  for (int t = 0; t < 100'000; ++t) report = mixture->learn(Vector{0}, Vector{1});
  EXPECT_EQ(report.weights[1], 1);
  EXPECT_EQ(mixture->predict(Vector{0})[0], -0.9);
}

}  // namespace
}  // namespace kalstream
