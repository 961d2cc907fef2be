#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "eval/comparison.h"
#include "eval/parallel.h"
#include "eval/statistics.h"
#include "eval/test_support.h"

namespace kalstream {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Statistics, QuantilesInterpolateAndSkipNaN) {
  const std::vector<double> v{4, nan, 1, 3, 2};
  EXPECT_EQ(mean(v), 2.5);
  EXPECT_EQ(median(v), 2.5);
  EXPECT_EQ(quantile(v, 0), 1);
  EXPECT_EQ(quantile(v, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(v, 0.05), 1.15);
  EXPECT_EQ(variance(v), 1.25);
  EXPECT_TRUE(std::isnan(median(std::vector<double>{})));
  EXPECT_EQ(median(std::vector<double>{1, 2, inf}), 2);
  EXPECT_EQ(median(std::vector<double>{1, inf, inf}), inf);
  EXPECT_EQ(median(std::vector<double>{1, inf}), inf);
}

TEST(Statistics, MovingAverageAndQuantilesOverRuns) {
  EXPECT_EQ(moving_average(std::vector<double>{1, 3, nan, 5}, 2),
            (std::vector<double>{1, 2, 3, 5}));
  const std::vector<double> a{1, 2, 3};
  const std::vector<double> b{3, nan};
  EXPECT_EQ(quantile_over_runs({a, b}, 0.5), (std::vector<double>{2, 2, 3}));
}

TEST(ParallelFor, DoesEveryTaskOnce) {
  for (std::size_t jobs : {1, 2, 7}) {
    std::vector<std::atomic<int>> done(100);
    parallel_for(done.size(), jobs, [&](std::size_t i) { ++done[i]; });
    for (const auto& d : done) EXPECT_EQ(d, 1);
  }
}

TEST(ParallelFor, PassesOnAnException) {
  for (std::size_t jobs : {1, 3}) {
    std::atomic<int> done = 0;
    const auto task = [&](std::size_t i) {
      ++done;
      if (i == 5) throw std::runtime_error("five");
    };
    EXPECT_THROW(parallel_for(1000, jobs, task), std::runtime_error);
    if (jobs == 1) {
      EXPECT_EQ(done, 6);  // no further task is started
    }
  }
}

/// Predicts from a script, and remembers what it was told.
class Scripted final : public Learner {
 public:
  explicit Scripted(std::vector<double> predictions) : predictions_(std::move(predictions)) {}
  std::size_t inputs() const override { return 1; }
  std::size_t outputs() const override { return 1; }
  std::uint64_t samples() const override { return seen_; }
  LearnerState state() const override { return {.networks = 4}; }
  std::span<const double> predict(std::span<const double>) override {
    log += 'p';
    return std::span(predictions_).subspan(seen_, 1);
  }
  StepReport learn(std::span<const double>, std::span<const double>) override {
    log += 'l';
    ++seen_;
    return {.status = StepStatus::gated, .experts = 4, .applied = 1};
  }
  StepReport advance(std::span<const double>) override {
    log += 'a';
    ++seen_;
    return {.status = StepStatus::missing};
  }
  void start_forecast() override { log += 'f'; }
  std::span<const double> forecast_next(std::span<const double> x) override {
    ahead_ = x[0];
    return {&ahead_, 1};
  }
  std::unique_ptr<Learner> clone() const override { return std::make_unique<Scripted>(*this); }
  void reset() override { seen_ = 0; }
  void exchange(Archive&) override {}

  std::string log;

 private:
  std::vector<double> predictions_;
  std::size_t seen_ = 0;
  double ahead_ = 0;
};

/// The run of this learner itself.
RunResult evaluate(Scripted& learner, const Dataset& data, const EvaluationOptions& options) {
  CalibratedLearner copy(learner.clone());
  const RunResult run = kalstream::evaluate(copy, data, options);
  learner = dynamic_cast<const Scripted&>(copy.learner());
  return run;
}

Dataset stream(std::vector<double> inputs, std::vector<double> targets) {
  Dataset data;
  data.input_names = {"x"};
  data.target_names = {"d"};
  data.inputs = std::move(inputs);
  data.targets = std::move(targets);
  return data;
}

TEST(Progressive, PredictsThenLearnsThenForecasts) {
  Scripted learner({0, 0, 0});
  const RunResult run =
      evaluate(learner, stream({1, 2, 3}, {1, -1, 1}), {.horizon = 1, .all_known_ahead = true});
  EXPECT_EQ(learner.log, "plfplfplf");
  EXPECT_TRUE(std::isnan(run.squared_error[0]));  // nothing was known
  EXPECT_EQ(run.squared_error[1], 1);
  EXPECT_EQ(run.squared_error[2], 1);
  EXPECT_DOUBLE_EQ(run.nse, 1);
  // Forecast of row t+1 made after row t: inputs 2, 3 against targets −1, 1.
  EXPECT_DOUBLE_EQ(run.knse, (9 + 4) / 2.0);
  EXPECT_EQ(run.update_fraction, 0.25);
}

TEST(Progressive, MissingTargetsAndInputs) {
  Scripted learner({0.5, 0.5, 0.5, 0.5, 0.5});
  const RunResult run =
      evaluate(learner, stream({1, nan, 3, 4, 5}, {1, 1, nan, -1, 1}),
               {.horizon = 2, .missing = MissingInputs::refuse, .all_known_ahead = true});
  EXPECT_EQ(learner.log, "plfpafplfplf");
  EXPECT_EQ(run.skipped_rows, 1U);
  EXPECT_EQ(run.missing_targets, 1U);
  EXPECT_EQ(run.scored, 2U);
  EXPECT_TRUE(std::isnan(run.squared_error[1]));
  EXPECT_DOUBLE_EQ(run.nse, (0.25 + 2.25) / 2 / 1);
}

TEST(Progressive, BoundsWherePredictedAndLearntWhereTargetsAre) {
  constexpr std::size_t rows = 60;
  std::vector<double> inputs(rows, 0);
  std::vector<double> targets;
  for (std::size_t t = 0; t < rows; ++t) targets.push_back(t % 2 == 0 ? 1 : -1);
  inputs[30] = nan;
  targets[31] = nan;
  const Dataset data = stream(inputs, targets);
  Scripted learner(std::vector<double>(rows, 0));
  const EvaluationOptions options{.coverage = 0.5, .missing = MissingInputs::refuse};
  const RunResult run = evaluate(learner, data, options);
  ASSERT_EQ(run.low.size(), rows);
  EXPECT_TRUE(std::isnan(run.low[9]));  // the first ten errors only tell their size
  EXPECT_TRUE(std::isnan(run.high[30]));
  EXPECT_LE(run.low[31], 0);  // bounds, though nothing to learn from
  EXPECT_GE(run.high[59], 0);
  learner.reset();
  // Those that a learner brings with it go on.
  CalibratedLearner calibrated(learner.clone(), {.coverage = 0.5});
  EXPECT_EQ(kalstream::evaluate(calibrated, data, options).high[59], run.high[59]);
  EXPECT_EQ(calibrated.intervals()->counted(), rows - 2 - 10);
  EXPECT_EQ(calibrated.intervals()->coverage(), run.bounds.coverage);
  learner.reset();
  EXPECT_TRUE(evaluate(learner, data, {}).low.empty());
}

TEST(Progressive, WarmUpRowsAreNeitherScoredNorLearnt) {
  Scripted learner({0, 0, 0, 0});
  const RunResult run =
      evaluate(learner, stream({1, 2, 3, 4}, {9, 1, -1, 1}),
               {.warm_up = 1, .horizon = 1, .sustained_length = 1, .all_known_ahead = true});
  EXPECT_EQ(learner.log, "pafplfplfplf");
  EXPECT_EQ(run.scored, 3U);
  EXPECT_EQ(run.missing_targets, 0U);
  EXPECT_TRUE(std::isnan(run.squared_error[0]));
  EXPECT_DOUBLE_EQ(run.nse, 1 / (8.0 / 9));
  EXPECT_EQ(run.sustained_at, 2U);  // 0 counts as negative: right for row 3, the second after
  ASSERT_EQ(run.forecast_squared_error.size(), 4U);
  EXPECT_TRUE(std::isnan(run.forecast_squared_error[0]));
  EXPECT_DOUBLE_EQ(run.forecast_squared_error[1], 16);  // forecast 3, target −1
  EXPECT_DOUBLE_EQ(run.forecast_squared_error[2], 9);
  EXPECT_TRUE(std::isnan(run.forecast_squared_error[3]));
}

// Predictions near 0 have any sign: of two values, the nearer one counts.
TEST(Progressive, SustainedPredictionOfZerosAndOnes) {
  Scripted learner({0.1, 0.9, 0.4, 0.6, 0.8});
  const Dataset data = stream({0, 0, 0, 0, 0}, {0, 1, 0, 1, 0});
  const RunResult run = evaluate(learner, data, {.sustained_length = 4});
  EXPECT_EQ(run.sustained_at, 4U);
  learner.reset();
  EXPECT_FALSE(evaluate(learner, data, {.sustained_length = 5}).sustained_at);
}

TEST(Progressive, DecisionLevels) {
  const auto level = [](std::vector<double> targets) {
    return decision_levels(stream(std::vector<double>(targets.size()), targets)).front();
  };
  EXPECT_EQ(level({-1, 1, 0.5}), 0);
  EXPECT_EQ(level({nan, 0, 1, 1, 0}), 0.5);
  EXPECT_EQ(level({-3, -1}), -2);
  EXPECT_TRUE(std::isnan(level({0, 1, 2})));
  EXPECT_TRUE(std::isnan(level({1, 0, 2})));
  EXPECT_TRUE(std::isnan(level({1, 1})));
}

TEST(Progressive, SustainedPrediction) {
  Scripted learner({1, -1, 1, 1, 1, 1});
  const Dataset data = stream({0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, -1});
  EXPECT_EQ(evaluate(learner, data, {.sustained_length = 3}).sustained_at, 5U);
  learner.reset();
  const RunResult stopped =
      evaluate(learner, data, {.stop_when_sustained = true, .sustained_length = 2});
  EXPECT_EQ(stopped.sustained_at, 4U);
  EXPECT_EQ(stopped.steps, 4U);
  learner.reset();
  EXPECT_FALSE(evaluate(learner, data, {.sustained_length = 4}).sustained_at);
}

TEST(Progressive, WeightsOfExpertsAreFollowedIfAskedFor) {
  std::vector<double> x;
  std::vector<double> d;
  for (int t = 0; t < 10; ++t) {
    x.push_back(std::sin(t));
    d.push_back(t == 4 ? nan : 0.5 * std::cos(t));
  }
  x[6] = nan;
  const Dataset data = stream(x, d);
  LearnerOptions options{.network = {}, .rule = Algorithm2{.error_bounds = {0.1, 0.01}}};
  options.network.hidden = 2;
  std::vector<std::vector<double>> expected;  // of each row that is not skipped
  const auto by_hand = make_learner(options);
  for (std::size_t t = 0; t < 10; ++t) {
    if (t == 6) continue;
    by_hand->predict(data.x(t));
    const StepReport report =
        t == 4 ? by_hand->advance(data.x(t)) : by_hand->learn(data.x(t), data.d(t));
    expected.emplace_back(report.weights.begin(), report.weights.end());
  }
  const auto learner = make_learner(options);
  const RunResult run = evaluate(*learner, data, {.weight_points = 4});
  EXPECT_EQ(run.weights, expected.back());
  EXPECT_EQ(run.weight_path.rows, (std::vector<std::size_t>{3, 6, 9, 10}));
  ASSERT_EQ(run.weight_path.weights.size(), 8U);
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_DOUBLE_EQ(run.weight_path.weights[j],
                     (expected[0][j] + expected[1][j] + expected[2][j]) / 3);
    EXPECT_DOUBLE_EQ(run.weight_path.weights[4 + j], (expected[6][j] + expected[7][j]) / 2);
    EXPECT_DOUBLE_EQ(run.weight_path.weights[6 + j], expected[8][j]);
  }
  learner->reset();
  EXPECT_TRUE(evaluate(*learner, data, {}).weight_path.rows.empty());
  options.rule = Ekf{};
  const RunResult single = evaluate(*make_learner(options), data, {.weight_points = 4});
  EXPECT_TRUE(single.weights.empty() && single.weight_path.rows.empty());
}

TEST(ComparisonThreads, ResultsDoNotDependOnJobs) {
  std::vector<double> x;
  std::vector<double> d;
  for (int t = 0; t < 150; ++t) {
    x.push_back(std::sin(0.3 * t));
    d.push_back(0.5 * std::sin(0.3 * (t + 1)));
  }
  const Dataset data = stream(x, d);
  LearnerOptions small{.network = {}, .rule = Algorithm2{}};
  small.network.hidden = 3;
  LearnerOptions ekf = small;
  ekf.rule = Ekf{};
  const std::vector<Contender> contenders{{"alg2", small}, {"ekf", ekf}, {"scaled", small, true}};
  std::atomic<std::size_t> steps = 0;
  const auto one = compare(contenders, data, {.seeds = {1, 2, 3}, .jobs = 1});
  const auto many = compare(contenders, data, {.seeds = {1, 2, 3}, .jobs = 4},
                            [&](std::size_t, std::size_t, std::size_t n, double) { steps += n; });
  EXPECT_EQ(steps, 9U * 150U);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t s = 0; s < 3; ++s)
      EXPECT_EQ(one[c].runs[s].prediction, many[c].runs[s].prediction);
  EXPECT_NE(one[0].runs[0].prediction, one[0].runs[1].prediction);
}

TEST(Comparison, SummaryOfTwoRuns) {
  Outcome o{.name = "two", .seeds = {1, 2}, .runs = std::vector<RunResult>(2)};
  o.runs[0].nse = 0.2;
  o.runs[0].squared_error = {0.1, 0.3};
  o.runs[0].target_variance = o.runs[1].target_variance = 0.5;
  o.runs[1].nse = 0.4;
  o.runs[1].squared_error = {0.2, nan};
  o.runs[0].forecast_squared_error = {nan, 0.1};
  o.runs[1].forecast_squared_error = {nan, 0.3};
  o.runs[0].seconds = 3;
  o.runs[1].seconds = 1;
  const Summary s = summarise(o);
  EXPECT_DOUBLE_EQ(s.nse_mean, 0.3);
  EXPECT_DOUBLE_EQ(s.nse_p05, 0.21);
  // Of two values, 5 and 95 % of the way are the values: 0.2, 0.4; in step 2: 0.6, 0.6.
  EXPECT_DOUBLE_EQ(s.nse_band_middle, (0.2 + 0.4 + 0.6 + 0.6) / 4);
  EXPECT_DOUBLE_EQ(s.nse_band_half, (0.4 - 0.2) / 4);
  EXPECT_EQ(s.sustained_median, inf);
  EXPECT_DOUBLE_EQ(s.nse_deviation, 0.1);
  EXPECT_DOUBLE_EQ(s.knse_band_middle, 0.4);
  EXPECT_DOUBLE_EQ(s.knse_band_half, 0.2);
  EXPECT_DOUBLE_EQ(s.seconds, 2);
}

TEST(Comparison, WrongOptionsNameTheContender) {
  LearnerOptions bad;
  bad.rule = Ekf{.initial_covariance = -1};
  try {
    compare({{"mine", bad}}, stream({1, 2}, {0, 1}), {});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "mine: initial_covariance must be finite and positive");
  }
}

}  // namespace
}  // namespace kalstream
