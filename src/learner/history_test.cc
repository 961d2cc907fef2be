#include "learner/history.h"

#include <gtest/gtest.h>

#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::Vector;

TEST(TargetHistory, KeepsTheLastTargetsTheNewestFirst) {
  TargetHistory history(3, 2);
  EXPECT_EQ(history.lags(), 3U);
  EXPECT_TRUE(same_bits(history.all(), Vector(6)));
  history.push(Vector{1, 2});
  EXPECT_TRUE(same_bits(history.all(), Vector{1, 2, 1, 2, 1, 2}));  // stands for those before it
  for (const double d : {3, 5, 7}) history.push(Vector{d, d + 1});
  EXPECT_TRUE(same_bits(history.all(), Vector{7, 8, 5, 6, 3, 4}));
  EXPECT_TRUE(same_bits(history[1], Vector{7, 8}));
  EXPECT_TRUE(same_bits(history[3], Vector{3, 4}));
  history.reset();
  EXPECT_TRUE(same_bits(history.all(), Vector(6)));
}

TEST(TargetHistory, MayBeEmpty) {
  TargetHistory history(0, 2);
  history.push(Vector{1, 2});
  EXPECT_EQ(history.lags(), 0U);
  EXPECT_TRUE(history.all().empty());
}

}  // namespace
}  // namespace kalstream
