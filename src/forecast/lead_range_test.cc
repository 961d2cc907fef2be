#include "forecast/lead_range.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.h"

namespace kalstream {
namespace {

struct Learnt {
  void learn(double d) {
    if (n == 0) low = high = d;
    range.learn(d, low, high);
    low = std::min(low, d);
    high = std::max(high, d);
    ++n;
  }
  LeadRange range{24};
  double low = 0;
  double high = 0;
  int n = 0;
};

// y = 3t is 3k beyond all that was known k steps before, whether that was seen already or not.
TEST(LeadRange, ATrendLeavesTheRange) {
  Learnt l;
  for (int t = 0; t < 24; ++t) l.learn(3.0 * t);
  for (std::size_t lead = 1; lead <= 24; ++lead) {
    EXPECT_DOUBLE_EQ(l.range.above(lead), 3.0 * static_cast<double>(lead)) << lead;
    EXPECT_EQ(l.range.below(lead), 0) << lead;
  }
  l.range.reset();
  EXPECT_EQ(l.range.above(5), 0);
}

TEST(LeadRange, NoiseHardlyDoes) {
  Learnt l;
  Rng rng(1);
  for (int t = 0; t < 2000; ++t) l.learn(rng.normal());
  for (std::size_t lead = 1; lead <= 24; ++lead) {
    EXPECT_LT(l.range.above(lead), (l.high - l.low) / 2) << lead;
    EXPECT_LT(l.range.below(lead), (l.high - l.low) / 2) << lead;
  }
}

TEST(LeadRange, SaysNothingOfTheFirstSamples) {
  Learnt l;
  for (int t = 0; t < 12; ++t) l.learn(t == 5 ? 100 : 1);
  EXPECT_EQ(l.range.above(1), 0);
}

}  // namespace
}  // namespace kalstream
