#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

using ClassOfInputs = std::function<std::size_t(const Vector& x)>;

/// Shares of the next samples whose most probable class was another one; inputs are uniform in
/// (−1, 1).
double error_rate(ClassHistory& history, ClassExpert& expert, Rng& rng, std::size_t inputs,
                  int samples, const ClassOfInputs& class_of) {
  int wrong = 0;
  for (int t = 0; t < samples; ++t) {
    Vector x(inputs);
    for (double& v : x) v = rng.uniform(-1, 1);
    const std::size_t y = class_of(x);
    const Vector p = history.predict_and_learn(expert, x, y);
    wrong += static_cast<std::size_t>(std::ranges::max_element(p) - p.begin()) == y ? 0 : 1;
  }
  return static_cast<double>(wrong) / samples;
}

std::size_t is_above(const Vector& x) { return x[2] > 0.3 ? 1 : 0; }
std::size_t exclusive_or(const Vector& x) { return (x[0] > 0) != (x[1] > 0) ? 1 : 0; }
std::size_t interval(const Vector& x) { return x[0] < -0.4 ? 2 : x[0] < 0.3 ? 0 : 1; }

struct Task {
  const char* name;
  std::size_t inputs;
  std::size_t classes;
  ClassOfInputs class_of;
};

// Thresholds are inputs of samples drawn at random, so that the best one is only approached: errors
// are left beside the edges.
TEST(Boosted, LearnsThresholdsExclusiveOrAndSeveralClasses) {
  for (const Task& task :
       {Task{"threshold", 6, 2, is_above}, Task{"xor", 2, 2, exclusive_or},
        Task{"xor among others", 6, 2, exclusive_or}, Task{"intervals", 3, 3, interval}}) {
    Rng rng(1);
    ClassHistory history(task.inputs, task.classes);
    const auto expert = make_class_expert(BoostingPlan{}, task.inputs, task.classes);
    error_rate(history, *expert, rng, task.inputs, 1200, task.class_of);
    EXPECT_LT(error_rate(history, *expert, rng, task.inputs, 500, task.class_of), 0.05)
        << task.name;
  }
}

// A tree looks at ten inputs, drawn at random.
TEST(Boosted, FindsTheInputThatMattersAmongMany) {
  Rng rng(2);
  ClassHistory history(40, 2);
  const auto expert = make_class_expert(BoostingPlan{}, 40, 2);
  error_rate(history, *expert, rng, 40, 1200, is_above);
  EXPECT_LT(error_rate(history, *expert, rng, 40, 500, is_above), 0.1);
}

TEST(Boosted, FollowsAChangeWithinItsWindow) {
  Rng rng(3);
  ClassHistory history(3, 2);
  const BoostingPlan plan{.window = 400, .trees = 24, .every = 8};
  const auto expert = make_class_expert(plan, 3, 2);
  error_rate(history, *expert, rng, 3, 1000, is_above);
  const auto other = [](const Vector& x) { return 1 - is_above(x); };
  EXPECT_GT(error_rate(history, *expert, rng, 3, 50, other), 0.5);
  error_rate(history, *expert, rng, 3, 400, other);
  EXPECT_LT(error_rate(history, *expert, rng, 3, 500, other), 0.05);
}

// Of a tree with the rate r and the prior λ, a leaf with n₁ samples of the second class and n₀ of
// the first has the score r (n₁ − n₀)/2 / ((n₁ + n₀)/4 + λ): the Newton step from even odds, where
// a gradient is ±1/2 and a curvature 1/4. With one input a leaf is an interval.
TEST(Boosted, TheFirstTreeIsANewtonStepInEveryLeaf) {
  constexpr int samples = 10;  // the first tree is made of so many
  const BoostingPlan plan{.window = 20, .every = 2};
  Rng rng(4);
  ClassHistory history(1, 2);
  const auto expert = make_class_expert(plan, 1, 2);
  std::vector<std::pair<double, std::size_t>> all;
  for (int t = 0; t < samples; ++t) {
    const double x = rng.normal();
    const std::size_t y = rng.uniform() < 1 / (1 + std::exp(-2 * x)) ? 1 : 0;
    EXPECT_EQ(history.predict_and_learn(*expert, {x}, y), Vector(2, 0.5));
    all.emplace_back(x, y);
  }
  std::ranges::sort(all);
  const auto score_at = [&](double x) {
    const Vector p = history.predict(*expert, {x});
    return std::log(p[1] / p[0]);
  };
  std::size_t leaves = 0;
  for (std::size_t first = 0; first < all.size(); ++leaves) {
    const double score = score_at(all[first].first);
    double n[2] = {0, 0};
    std::size_t next = first;
    for (; next < all.size() && std::abs(score_at(all[next].first) - score) < 1e-9; ++next)
      n[all[next].second] += 1;
    EXPECT_NEAR(score, plan.rate * (n[1] - n[0]) / 2 / ((n[1] + n[0]) / 4 + plan.prior), 1e-9);
    first = next;
  }
  EXPECT_GE(leaves, 2U);
}

// Nothing is to be learnt: what is said on average is the share of the class, within four standard
// deviations of that share in the window of 2,000 samples, √(0.3·0.7/2000) = 0.0102.
TEST(Boosted, SaysTheShareOfAClassThatInputsDoNotTell) {
  Rng rng(5);
  ClassHistory history(2, 2);
  const auto expert = make_class_expert(BoostingPlan{}, 2, 2);
  double sum = 0;
  for (int t = 0; t < 3000; ++t) {
    const Vector x = test::normals(rng, 2);
    const Vector p = history.predict_and_learn(*expert, x, rng.uniform() < 0.3 ? 1 : 0);
    if (t >= 2000) sum += p[1];
  }
  EXPECT_NEAR(sum / 1000, 0.3, 0.041);
}

}  // namespace
}  // namespace kalstream
