#include "monitor/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/rng.h"

namespace kalstream {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(LatencyHistogram, KnowsNothingAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_TRUE(std::isnan(histogram.quantile(0.5)));
  EXPECT_TRUE(std::isnan(histogram.summary().max));
}

// From 100 ns to 1000 s, one value at a time.
TEST(LatencyHistogram, IsRightToWithinItsResolution) {
  for (double seconds = 1e-7; seconds <= 1000; seconds *= 1.013) {
    LatencyHistogram histogram;
    histogram.record(seconds);
    histogram.record(2 * seconds);  // so that the largest is not the answer
    EXPECT_NEAR(histogram.quantile(0.5) / seconds, 1, 0.032);
  }
}

TEST(LatencyHistogram, QuantilesAreThoseOfTheSample) {
  Rng rng(3);
  LatencyHistogram histogram;
  std::vector<double> all;
  double sum = 0;
  for (int i = 0; i < 50000; ++i) {
    all.push_back(1e-4 * std::exp(1.5 * rng.normal()));
    sum += all.back();
    histogram.record(all.back());
  }
  std::ranges::sort(all);
  for (const double p : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(p * 50000));
    EXPECT_NEAR(histogram.quantile(p) / all[std::max<std::size_t>(rank, 1) - 1], 1, 0.032) << p;
  }
  EXPECT_EQ(histogram.count(), 50000u);
  EXPECT_EQ(histogram.max(), all.back());
  EXPECT_DOUBLE_EQ(histogram.sum(), sum);
  EXPECT_EQ(histogram.summary().p99, histogram.quantile(0.99));
}

TEST(LatencyHistogram, TakesAnyNumber) {
  LatencyHistogram histogram;
  histogram.record(std::nan(""));
  EXPECT_EQ(histogram.count(), 0u);
  for (const double seconds : {-1.0, 0.0, 1e-300, 1e9, infinity, -infinity})
    histogram.record(seconds);
  EXPECT_EQ(histogram.count(), 6u);
  EXPECT_LT(histogram.quantile(0.3), 1e-7);
  EXPECT_NEAR(histogram.quantile(1), 1024, 40);
  EXPECT_TRUE(std::isfinite(histogram.sum()));
  EXPECT_TRUE(std::isfinite(histogram.max()));
}

// A slow first hour is not in today's quantiles.
TEST(LatencyHistogram, QuantilesForgetTheDistantPast) {
  LatencyHistogram histogram;
  for (int i = 0; i < 100000; ++i) histogram.record(1);
  for (int i = 0; i < 140000; ++i) histogram.record(1e-3);
  EXPECT_NEAR(histogram.quantile(0.9999), 1e-3, 4e-5);
  EXPECT_EQ(histogram.max(), 1);
  EXPECT_EQ(histogram.count(), 240000u);
}

}  // namespace
}  // namespace kalstream
