#include "core/moments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace kalstream {
namespace {

using test::normals;
using test::Vector;

TEST(RunningMoments, AreThoseOfAllSamples) {
  Rng rng(5);
  RunningMoments moments(2);
  Vector sum(2), sum_sq(2);
  for (std::size_t t = 1; t <= 200; ++t) {
    Vector v = normals(rng, 2);
    v[1] = 3 + 0.1 * v[1];
    moments.add(v);
    EXPECT_EQ(moments.count(), t);
    for (std::size_t k = 0; k < 2; ++k) {
      sum[k] += v[k];
      sum_sq[k] += v[k] * v[k];
      const double mean = sum[k] / double(t);
      EXPECT_NEAR(moments.mean(k), mean, 1e-13);
      if (t < 2) continue;
      const double deviation = std::sqrt(sum_sq[k] / double(t) - mean * mean);
      EXPECT_NEAR(moments.deviation(k), deviation, 1e-10);
      EXPECT_NEAR(moments.standardised(k, v[k]), (v[k] - mean) / deviation, 1e-8);
    }
  }
}

// Nothing known, or nothing but one value: units stay as they are.
TEST(RunningMoments, DeviationIsOneUntilThereIsASpread) {
  RunningMoments moments(1);
  EXPECT_EQ(moments.standardised(0, 2), 2);
  for (int t = 0; t < 50; ++t) {
    moments.add(Vector{0.1});
    EXPECT_EQ(moments.deviation(0), 1);
  }
  EXPECT_NEAR(moments.mean(0), 0.1, 1e-15);
}

// 1e9 counts as ten deviations; a new level is one after a while.
TEST(RunningMoments, WildValuesCountAsTheEdgeOfWhatCameBefore) {
  Rng rng(6);
  RunningMoments moments(1);
  for (int t = 0; t < 100; ++t) moments.add(normals(rng, 1));
  RunningMoments edge = moments;
  edge.add(Vector{moments.mean(0) + 10 * moments.deviation(0)});
  EXPECT_EQ(moments.standardised(0, 1e9), 10);
  EXPECT_EQ(moments.standardised(0, -1e9), -10);
  moments.add(Vector{1e9});
  EXPECT_DOUBLE_EQ(moments.mean(0), edge.mean(0));
  EXPECT_DOUBLE_EQ(moments.deviation(0), edge.deviation(0));
  for (int t = 0; t < 300; ++t) moments.add(Vector{1000 + rng.normal()});
  EXPECT_LT(std::abs(moments.standardised(0, 1000)), 2);
}

TEST(RunningMoments, ResetForgets) {
  RunningMoments moments(1);
  for (const double v : {1.0, 5.0, 9.0}) moments.add(Vector{v});
  moments.reset();
  EXPECT_EQ(moments.count(), 0U);
  EXPECT_EQ(moments.mean(0), 0);
  EXPECT_EQ(moments.deviation(0), 1);
}

// A change of scale after a long time is followed; until then they are those of all samples.
TEST(RunningMoments, OldSamplesFade) {
  Rng rng(7);
  RunningMoments moments(1);
  constexpr auto horizon = static_cast<int>(RunningMoments::horizon);
  for (int t = 0; t < 10 * horizon; ++t) moments.add(Vector{5 + 2 * rng.uniform(-1, 1)});
  EXPECT_NEAR(moments.mean(0), 5, 0.02);
  EXPECT_NEAR(moments.deviation(0), 2 / std::sqrt(3), 0.01);
  for (int t = 0; t < 10 * horizon; ++t) moments.add(Vector{-1 + rng.uniform(-1, 1)});
  EXPECT_NEAR(moments.mean(0), -1, 0.02);
  EXPECT_NEAR(moments.deviation(0), 1 / std::sqrt(3), 0.05);
}

}  // namespace
}  // namespace kalstream
