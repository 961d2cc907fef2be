#include "eval/timeline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "eval/test_support.h"
#include "schema/future.h"
#include "schema/timestamp.h"

namespace kalstream::timeline_test {
namespace {

constexpr std::int64_t hour = 3'600'000'000'000;

// Hours of a year, y with a course of the day that the temperature, an input, foretells.
Dataset hourly(const std::vector<int>& hours) {
  Dataset data;
  data.input_names = {"temp", "other"};
  data.target_names = {"y"};
  data.schema.fields = {{.name = "time", .role = Role::time},
                        {.name = "temp", .role = Role::input},
                        {.name = "other", .role = Role::input},
                        {.name = "y", .role = Role::target}};
  data.schema.time_form = TimeForm::year_first;
  data.time_name = "time";
  Rng rng(2);
  for (const int h : hours) {
    const double temp = std::sin(0.7 * h) + 0.3 * std::sin(0.11 * h * h);
    data.inputs.insert(data.inputs.end(), {temp, rng.uniform()});
    data.targets.push_back(2 * temp + 0.01 * rng.normal());
    data.ticks.push_back(h * hour);
    data.moments.push_back(h * hour);
    data.times.push_back(iso_text(h * hour));
  }
  return data;
}

std::vector<int> hours_until(int end) {
  std::vector<int> hours;
  for (int h = 0; h < end; ++h) hours.push_back(h);
  return hours;
}

std::unique_ptr<Learner> linear(const Dataset& data, std::size_t lags = 2) {
  LearnerOptions options{.network = {}, .rule = Rls{}, .lags = lags};
  options.network.inputs = data.n_inputs();
  return make_learner(options);
}

TEST(Timeline, CountsTheStepsOfALearner) {
  const Dataset data = hourly({0, 1, 2, 3, 4, 8, 7, 8, 9});
  const RunResult run = evaluate(*linear(data), data, {});
  const Timeline& line = run.timelines.front();
  EXPECT_EQ(line.clock.text(), "1 hour");
  EXPECT_EQ(run.passed_steps, 3U);
  EXPECT_EQ(run.kind[6], RowKind::late);
  EXPECT_EQ(run.kind[7], RowKind::repeated);
  EXPECT_EQ(run.place[5], 8U);
  EXPECT_EQ(run.place[8], 9U);
  EXPECT_EQ(line.row_at[8], 5U);
  EXPECT_EQ(line.row_at[6], Timeline::none);
  ASSERT_EQ(line.steps.size(), 1U);
  EXPECT_EQ(line.clock.periods(), (std::vector<double>{24, 168}));
  const auto clocks = clocks_of(data);
  EXPECT_EQ(clocks.at("").clock.text(), "1 hour");
  EXPECT_EQ(clocks.at("").steps.front().row, line.steps.front().row);
}

TEST(Timeline, WithoutTimesEveryUsableRowIsTaken) {
  Dataset data = hourly(hours_until(10));
  data.times.clear();
  data.ticks.clear();
  data.inputs[7] = NAN;
  const RunResult run = evaluate(*linear(data), data, {});
  EXPECT_EQ(run.skipped_rows, 1U);
  EXPECT_EQ(run.kind[3], RowKind::skipped);
  EXPECT_EQ(run.place[4], 3U);
  EXPECT_EQ(run.passed_steps, 0U);
  // The last value stands in for it, if that is asked for.
  const RunResult held = evaluate(*linear(data), data, {.missing = MissingInputs::hold});
  EXPECT_EQ(held.skipped_rows, 0U);
  EXPECT_EQ(held.held[3], 1U);
}

// A gap is gone through as if rows without target, with inputs as they were, stood there.
TEST(Timeline, AGapIsRowsWithoutTarget) {
  std::vector<int> gapped;
  for (const int h : hours_until(60))
    if (h < 40 || h >= 44) gapped.push_back(h);
  const Dataset missing = hourly(gapped);
  Dataset filled = hourly(gapped);
  for (int k = 0; k < 4; ++k) {
    filled.inputs.insert(filled.inputs.begin() + 2 * 40, missing.inputs.begin() + 2 * 39,
                         missing.inputs.begin() + 2 * 40);
    filled.targets.insert(filled.targets.begin() + 40, NAN);
  }
  filled.times.clear();
  filled.ticks.clear();
  const auto one = evaluate(*linear(missing), missing, {.horizon = 3, .keep_forecasts = true});
  const auto other = evaluate(*linear(filled), filled, {.horizon = 3, .keep_forecasts = true});
  EXPECT_EQ(one.passed_steps, 4U);
  EXPECT_EQ(one.prediction[45], other.prediction[49]);
  EXPECT_EQ(one.forecasts.value[45 * 3 + 2], other.forecasts.value[49 * 3 + 2]);
  EXPECT_EQ(one.nse, other.nse);
  EXPECT_TRUE(std::isnan(one.forecast_squared_error[38]));  // nothing is known of hour 41
  EXPECT_FALSE(std::isnan(one.forecast_squared_error[36]));
}

// What is repeated or late changes nothing.
TEST(Timeline, NothingIsLearntTwice) {
  const Dataset once = hourly({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Dataset twice = hourly({0, 1, 2, 3, 4, 5, 5, 6, 7, 3, 8, 9, 10, 11});
  // The same values where the times are the same.
  const std::vector<int> row{0, 1, 2, 3, 4, 5, 5, 6, 7, 3, 8, 9, 10, 11};
  for (std::size_t t = 0; t < row.size(); ++t) {
    twice.targets[t] = once.targets[static_cast<std::size_t>(row[t])];
    for (std::size_t k = 0; k < 2; ++k)
      twice.inputs[2 * t + k] = once.inputs[2 * static_cast<std::size_t>(row[t]) + k];
  }
  const auto a = evaluate(*linear(once), once, {});
  const auto b = evaluate(*linear(twice), twice, {});
  EXPECT_EQ(b.untimely_rows(), 2U);
  EXPECT_EQ(a.prediction.back(), b.prediction.back());
  EXPECT_EQ(a.nse, b.nse);
}

double error_with(const std::vector<std::string>& future) {
  const Dataset data = hourly(hours_until(600));
  return evaluate(*linear(data, 0), data, {.horizon = 3, .future = future}).knse;
}

TEST(Future, InputsKnownAheadAreUsedAndOthersHeld) {
  EXPECT_LT(error_with({"temp"}), 0.05);
  EXPECT_GT(error_with({}), 0.5);
}

// Neither later targets nor later inputs that are not known ahead change a forecast.
TEST(Future, ForecastsDoNotLookAhead) {
  const Dataset data = hourly(hours_until(200));
  Dataset changed = data;
  for (std::size_t t = 150; t < 200; ++t) {
    changed.targets[t] = 7;
    changed.inputs[2 * t + 1] = -3;
  }
  const EvaluationOptions options{
      .horizon = 4, .coverage = 0.8, .keep_forecasts = true, .future = {"temp"}};
  const auto one = evaluate(*linear(data), data, options).forecasts;
  const auto other = evaluate(*linear(changed), changed, options).forecasts;
  for (std::size_t k = 0; k < 150 * 4; ++k) {
    EXPECT_EQ(one.value[k], other.value[k]);
    if (!std::isnan(one.low[k])) {
      EXPECT_EQ(one.low[k], other.low[k]);
    }
  }
  EXPECT_NE(one.value[151 * 4], other.value[151 * 4]);
}

TEST(Future, RowsAheadOfTheirTimeTellWhatIsKnown) {
  Dataset data = hourly(hours_until(120));
  for (std::size_t t = 100; t < 120; ++t) {
    data.targets[t] = NAN;
    data.inputs[2 * t + 1] = NAN;
  }

  const Dataset truth = hourly(hours_until(120));
  const auto outlook =
      look_ahead(*linear(data, 0), data, {.horizon = 24, .coverage = 0, .future = {"temp"}});
  EXPECT_EQ(outlook.history, 100U);
  EXPECT_EQ(evaluate(*linear(data, 0), data, {.future = {"temp"}}).ahead_rows, 20U);
  EXPECT_EQ(outlook.times.front(), "1970-01-05T04:00:00Z");
  for (std::size_t k = 0; k < 20; ++k)
    EXPECT_NEAR(outlook.value[k], truth.targets[100 + k], 0.2) << k;
  // Without the name, all is held.
  const auto held = look_ahead(*linear(data, 0), data, {.horizon = 20, .coverage = 0});
  double far = 0;
  for (std::size_t k = 0; k < 20; ++k)
    far = std::max(far, std::abs(held.value[k] - truth.targets[100 + k]));
  EXPECT_GT(far, 1);
}

TEST(Future, ALaterRowNeedNotRepeatWhatIsKnown) {
  Dataset data = hourly({0, 1, 2, 3, 4, 5, 6, 6, 7});
  data.targets[6] = NAN;
  data.inputs[2 * 6 + 1] = NAN;
  data.inputs[2 * 7] = NAN;
  const RunResult run = evaluate(*linear(data), data, {.future = {"temp"}});
  EXPECT_EQ(run.kind[6], RowKind::ahead);
  EXPECT_EQ(run.kind[7], RowKind::taken);
}

TEST(Outlook, BacktestsBesideNaive) {
  Dataset data;
  data.target_names = {"y"};
  Rng rng(6);
  for (int t = 0; t < 2000; ++t)
    data.targets.push_back(std::sin(2 * M_PI * t / 12) + 0.05 * rng.normal());
  const auto outlook = look_ahead(
      *linear(data, 12), data, {.horizon = 6, .coverage = 0.9, .periods = std::vector<double>{12}},
      /*backtest=*/true);
  ASSERT_EQ(outlook.rivals.size(), 2U);
  EXPECT_EQ(outlook.rivals[0], "seasonal naive (12)");
  ASSERT_EQ(outlook.scores.size(), 7U);
  const LeadScore& last = outlook.scores[5];
  EXPECT_EQ(last.lead, 6U);
  EXPECT_NEAR(last.rival_rmse[0], 0.05 * std::sqrt(2), 0.005);
  EXPECT_GT(last.rival_rmse[1], 1);
  EXPECT_LT(last.rmse, last.rival_rmse[0]);
  EXPECT_NEAR(last.coverage, 0.9, 0.03);
  EXPECT_EQ(outlook.scores[6].lead, 0U);
  EXPECT_TRUE(outlook.times.empty());
}

// However late targets come, each forecast is scored.
TEST(Outlook, BacktestsOfLateTargetsScoreEveryLead) {
  const Dataset data = hourly(hours_until(300));
  const Outlook at_once = look_ahead(*linear(data), data, {.horizon = 4}, /*backtest=*/true);
  const Outlook late =
      look_ahead(*linear(data), data, {.horizon = 4, .delay = 9}, /*backtest=*/true);
  ASSERT_EQ(late.scores.size(), 5U);
  for (std::size_t lead = 0; lead < 4; ++lead) {
    EXPECT_GT(at_once.scores[lead].count, 100U);
    EXPECT_EQ(late.scores[lead].count, at_once.scores[lead].count);
    EXPECT_EQ(late.scores[lead].rival_rmse, at_once.scores[lead].rival_rmse);
  }
}

TEST(Elapsed, IsAnInputWhereRowsComeAtAnyTime) {
  Dataset data = hourly(hours_until(40));
  double at = 0;
  Rng rng(8);
  for (std::int64_t& tick : data.ticks) {
    tick = std::llround(at * hour);
    at += -std::log(1 - rng.uniform());
  }
  data.ticks[4] = data.ticks[3] + 5 * hour;
  for (std::size_t t = 5; t < 40; ++t) data.ticks[t] += 5 * hour;
  EXPECT_TRUE(clocks_of(data).at("").is_irregular());
  add_elapsed(data);
  EXPECT_EQ(data.n_inputs(), 3U);
  EXPECT_EQ(data.input_names.back(), "elapsed");
  EXPECT_TRUE(has_elapsed(data.schema));
}

}  // namespace
}  // namespace kalstream::timeline_test
