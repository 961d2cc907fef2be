#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "eval/statistics.h"
#include "eval/test_support.h"

namespace kalstream {
namespace {

Dataset noisy_sine(std::size_t rows, bool inputs) {
  Dataset data;
  if (inputs) data.input_names = {"x"};
  data.target_names = {"d"};
  Rng rng(7);
  for (std::size_t t = 0; t < rows; ++t) {
    if (inputs) data.inputs.push_back(std::sin(0.3 * static_cast<double>(t)));
    data.targets.push_back(std::sin(0.3 * static_cast<double>(t) + 0.5) + 0.1 * rng.normal());
  }
  return data;
}

std::unique_ptr<Learner> linear(const Dataset& data) {
  LearnerOptions options{.network = {}, .rule = Rls{}, .lags = 2};
  options.network.inputs = data.n_inputs();
  return make_learner(options);
}

TEST(Forecasts, AreThoseThatAreScored) {
  constexpr std::size_t horizon = 4;
  Dataset data = noisy_sine(80, true);
  data.inputs[40] = NAN;
  data.targets[50] = NAN;
  const RunResult kept = evaluate(*linear(data), data,
                                  {.steps = 60,
                                   .horizon = horizon,
                                   .coverage = 0.8,
                                   .keep_forecasts = true,
                                   .all_known_ahead = true});
  const RunResult scored =
      evaluate(*linear(data), data, {.steps = 60, .horizon = horizon, .all_known_ahead = true});
  EXPECT_EQ(kept.knse, scored.knse);
  EXPECT_EQ(kept.prediction[59], scored.prediction[59]);
  ASSERT_EQ(kept.forecasts.value.size(), 60 * horizon);
  for (std::size_t t = 0; t < 60; ++t) {
    const double farthest = kept.forecasts.value[(t + 1) * horizon - 1];
    const double error = kept.forecast_squared_error[t];
    EXPECT_EQ(std::isnan(error), std::isnan(scored.forecast_squared_error[t])) << t;
    // The row whose input is missing is none.
    const std::size_t there = t + horizon + (t < 40 && t + horizon >= 40 ? 1 : 0);
    if (!std::isnan(error)) {
      EXPECT_EQ(error, std::pow(data.targets[there] - farthest, 2)) << t;
    }
  }
  EXPECT_FALSE(std::isnan(kept.forecasts.value[38 * horizon + 1]));
  EXPECT_TRUE(std::isnan(kept.forecasts.value[40 * horizon]));
}

// Beyond the last row that is known, inputs are held.
TEST(Forecasts, DoNotEndWithTheInputs) {
  const EvaluationOptions options{.horizon = 3, .keep_forecasts = true, .all_known_ahead = true};
  const Dataset with = noisy_sine(30, true);
  const RunResult run = evaluate(*linear(with), with, options);
  EXPECT_FALSE(std::isnan(run.forecasts.value.back()));
  EXPECT_EQ(run.remarks.back(),
            "inputs known ahead are not known for all of the horizon: there they are held at their "
            "last values");
  const Dataset series = noisy_sine(30, false);
  EXPECT_FALSE(std::isnan(evaluate(*linear(series), series, options).forecasts.value.back()));
}

TEST(Forecasts, BoundsHoldWhatTheyShould) {
  constexpr std::size_t rows = 3000;
  constexpr std::size_t horizon = 2;
  const Dataset data = noisy_sine(rows, false);
  const auto f =
      evaluate(*linear(data), data, {.horizon = horizon, .coverage = 0.8, .keep_forecasts = true})
          .forecasts;
  for (std::size_t lead = 1; lead <= horizon; ++lead) {
    std::vector<double> held;
    for (std::size_t t = 0; t + lead < rows; ++t) {
      const std::size_t place = t * horizon + lead - 1;
      if (std::isnan(f.low[place])) continue;
      const double d = data.targets[t + lead];
      held.push_back(f.low[place] <= d && d <= f.high[place] ? 1 : 0);
    }
    EXPECT_GT(held.size(), rows - 20);
    EXPECT_NEAR(mean(held), 0.8, 0.02) << lead;
  }
}

// What comes later changes no bounds before it.
TEST(Forecasts, DoNotLookAhead) {
  const Dataset all = noisy_sine(200, false);
  Dataset changed = all;
  for (std::size_t t = 150; t < 200; ++t) changed.targets[t] = 9;
  const EvaluationOptions options{.horizon = 3, .coverage = 0.8, .keep_forecasts = true};
  const auto one = evaluate(*linear(all), all, options).forecasts;
  const auto other = evaluate(*linear(changed), changed, options).forecasts;
  for (std::size_t k = 0; k < 150 * 3; ++k) {
    EXPECT_EQ(one.value[k], other.value[k]);
    if (!std::isnan(one.low[k])) {
      EXPECT_EQ(one.low[k], other.low[k]);
    }
  }
}

}  // namespace
}  // namespace kalstream
