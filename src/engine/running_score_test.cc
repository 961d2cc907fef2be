#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/generators.h"
#include "engine/scores.h"
#include "eval/progressive.h"
#include "kalstream/presets.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::normals;
using test::same_bits;
using test::Vector;

TEST(RunningScore, KnowsNothingAtFirst) {
  RunningScore score(1);
  EXPECT_TRUE(std::isnan(score.all().rmse));
  EXPECT_TRUE(score.add(Vector{1}, Vector{3}));
  EXPECT_EQ(score.all().rmse, 2);
  EXPECT_EQ(score.recent().mae, 2);
  EXPECT_TRUE(std::isnan(score.all().nse));  // one target does not vary
}

// The same numbers as two passes over all samples, and as `evaluate`.
TEST(RunningScore, IsWhatProgressiveValidationSays) {
  const auto stream = test::random_stream(4, 3, 2, 400);
  Dataset data;
  for (const auto* name : {"a", "b", "c"}) data.input_names.emplace_back(name);
  data.target_names = {"y", "z"};
  for (std::size_t t = 0; t < stream.size(); ++t) {
    data.inputs.insert(data.inputs.end(), stream.x[t].begin(), stream.x[t].end());
    data.targets.insert(data.targets.end(), stream.d[t].begin(), stream.d[t].end());
  }
  LearnerOptions options;
  options.network = test::small_network(3, 3, 2);
  options.rule = Ekf{};
  CalibratedLearner learner(make_learner(options));
  const RunResult run = evaluate(learner, data, {});
  RunningScore score(2);
  double squares = 0;
  double magnitudes = 0;
  for (std::size_t t = 1; t < run.steps; ++t) {  // the first target is not scored
    const auto d_hat = std::span(run.prediction).subspan(2 * t, 2);
    ASSERT_TRUE(score.add(d_hat, data.d(t)));
    for (std::size_t k = 0; k < 2; ++k) {
      squares += std::pow(data.d(t)[k] - d_hat[k], 2);
      magnitudes += std::abs(data.d(t)[k] - d_hat[k]);
    }
  }
  ASSERT_EQ(score.count(), run.scored);
  const double n = 2 * static_cast<double>(run.scored);
  EXPECT_NEAR(score.all().nse, run.nse, 1e-12 * run.nse);
  EXPECT_NEAR(score.all().rmse, std::sqrt(squares / n), 1e-12);
  EXPECT_NEAR(score.all().mae, magnitudes / n, 1e-12);
}

// Against sums with the weights written out; the window here is 20.
TEST(RunningScore, RecentSamplesCountMore) {
  Rng rng(8);
  RunningScore score(1, 20);
  Vector d;
  Vector d_hat;
  for (int t = 0; t < 300; ++t) {
    d.push_back(5 + rng.normal());
    d_hat.push_back(d.back() + (t < 200 ? 0.1 : 2) * rng.normal());
    score.add(std::span(d_hat).last(1), std::span(d).last(1));
  }
  double weights = 0, mean = 0, spread = 0, squares = 0, magnitudes = 0;
  const auto weight = [&](std::size_t t) { return std::pow(0.95, double(299 - t)); };
  for (std::size_t t = 0; t < 300; ++t) {
    weights += weight(t);
    mean += weight(t) * d[t];
    squares += weight(t) * std::pow(d[t] - d_hat[t], 2);
    magnitudes += weight(t) * std::abs(d[t] - d_hat[t]);
  }
  mean /= weights;
  for (std::size_t t = 0; t < 300; ++t) spread += weight(t) * std::pow(d[t] - mean, 2);
  EXPECT_NEAR(score.recent().nse, squares / spread, 1e-9);
  EXPECT_NEAR(score.recent().rmse, std::sqrt(squares / weights), 1e-9);
  EXPECT_NEAR(score.recent().mae, magnitudes / weights, 1e-9);
  EXPECT_GT(score.recent().rmse, 1.3 * score.all().rmse);
}

// A large level with a small spread, where Σd² − n·mean² would have no digit left.
TEST(RunningScore, StaysExactOnALongStreamFarFromZero) {
  Rng rng(9);
  RunningScore score(1);
  for (int t = 0; t < 1000000; ++t) {
    const double d = 1e8 + rng.normal();
    score.add(Vector{d + 0.1 * (t % 2 == 0 ? 1 : -1)}, Vector{d});
  }
  EXPECT_NEAR(score.all().rmse, 0.1, 1e-7);
  EXPECT_NEAR(score.all().nse, 0.01, 1e-4);
  EXPECT_NEAR(score.recent().nse, 0.01, 2e-3);
}

TEST(RunningScore, UnusableSamplesLeaveNoTrace) {
  RunningScore score(2);
  score.add(Vector{1, 2}, Vector{2, 2});
  std::vector<std::byte> before, after;
  Archive first(before);
  score.exchange(first);
  EXPECT_FALSE(score.add(Vector{NAN, 2}, Vector{2, 2}));
  EXPECT_FALSE(score.add(Vector{1, 2}, Vector{2, INFINITY}));
  EXPECT_FALSE(score.add(Vector{1e200, 2}, Vector{2, 2}));
  EXPECT_FALSE(score.add(Vector{1}, Vector{2}));
  Archive second(after);
  score.exchange(second);
  EXPECT_EQ(before, after);
}

TEST(RunningScore, GoesOnFromACheckpoint) {
  Rng rng(10);
  RunningScore score(2);
  for (int t = 0; t < 50; ++t) score.add(normals(rng, 2), normals(rng, 2));
  std::vector<std::byte> bytes;
  Archive out(bytes);
  score.exchange(out);
  RunningScore again(2);
  Archive in{std::span<const std::byte>(bytes)};
  again.exchange(in);
  EXPECT_EQ(in.left(), 0u);
  for (int t = 0; t < 50; ++t) {
    const Vector a = normals(rng, 2), b = normals(rng, 2);
    score.add(a, b);
    again.add(a, b);
  }
  EXPECT_EQ(again.count(), 100u);
  EXPECT_TRUE(same_bits(Vector{again.all().nse, again.recent().nse, again.recent().mae},
                        Vector{score.all().nse, score.recent().nse, score.recent().mae}));
  RunningScore other(3);
  Archive wrong{std::span<const std::byte>(bytes)};
  EXPECT_THROW(other.exchange(wrong), SnapshotError);
  bytes.resize(bytes.size() - 1);
  Archive cut{std::span<const std::byte>(bytes)};
  EXPECT_THROW(again.exchange(cut), SnapshotError);
}

}  // namespace
}  // namespace kalstream
