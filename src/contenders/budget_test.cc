#include "contenders/budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kalstream {
namespace {

LearnerOptions options(std::size_t inputs, const Auto& rule = {}) {
  LearnerOptions o{.network = {}, .rule = rule};
  o.network.inputs = inputs;
  return o;
}

// Ten microseconds a network, and three for the rest.
double cost(const LearnerOptions& o) {
  return 3 + 10 * static_cast<double>(std::get<Auto>(o.rule).experts);
}

TEST(Budget, TakesAsManyNetworksAsItAllows) {
  for (const int experts : {1, 2, 5}) {
    const ExpertChoice choice = choose_experts(options(3), 3 + 10 * experts + 5, cost);
    EXPECT_EQ(choice.experts, static_cast<std::size_t>(experts));
    EXPECT_EQ(choice.us, 3 + 10 * experts);
    EXPECT_TRUE(choice.within);
  }
  EXPECT_EQ(choose_experts(options(3), 23, cost).experts, 2U) << "the budget itself is within";
}

TEST(Budget, AllOfThemAtMost) {
  for (const std::size_t inputs : {0, 3})
    for (const bool full_ekf : {false, true}) {
      const LearnerOptions all = options(inputs, {.full_ekf = full_ekf});
      const ExpertChoice choice = choose_experts(all, 1e9, cost);
      EXPECT_EQ(choice.experts, choice.most);
      EXPECT_GT(choice.most, 1U);
      // So many are all, and one less is one less.
      LearnerOptions chosen = all;
      std::get<Auto>(chosen.rule).experts = choice.experts;
      EXPECT_EQ(expert_names(chosen), expert_names(all));
      std::get<Auto>(chosen.rule).experts = choice.experts - 1;
      EXPECT_EQ(expert_names(chosen).size() + 1, expert_names(all).size());
    }
}

TEST(Budget, SaysWhenEvenOneIsTooMuch) {
  std::size_t measured = 0;
  const ExpertChoice choice = choose_experts(options(3), 5, [&](const LearnerOptions& o) {
    ++measured;
    return cost(o);
  });
  EXPECT_EQ(choice.experts, 1U);
  EXPECT_EQ(choice.us, 13);
  EXPECT_FALSE(choice.within);
  EXPECT_EQ(measured, 1U);
}

TEST(Budget, MeasuresSomething) {
  EXPECT_GT(measured_cost(options(2, {.experts = 1})), 0);
  EXPECT_GT(measured_cost(options(0, {.experts = 1})), 0);
}

TEST(Budget, MadeUpStreamsHaveTheSizeAskedFor) {
  for (const std::size_t inputs : {0, 3}) {
    const Dataset data = made_up_stream(inputs, 2, 50);
    EXPECT_EQ(data.rows(), 50U);
    EXPECT_EQ(data.n_inputs(), inputs);
    EXPECT_EQ(data.n_targets(), 2U);
    EXPECT_EQ(data.inputs.size(), 50 * inputs);
    for (const double d : data.targets) EXPECT_LT(std::abs(d), 0.8);
  }
}

}  // namespace
}  // namespace kalstream
