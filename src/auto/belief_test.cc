#include "auto/belief.h"

#include <gtest/gtest.h>

#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

// Mean 0 and deviation 1.
RunningMoments unit_moments() {
  RunningMoments moments(1);
  for (int n = 0; n < 100; ++n) moments.add(Vector{n % 2 == 0 ? 1.0 : -1.0});
  return moments;
}

Distance distance_of(double input, double target) {
  static const RunningMoments moments = unit_moments();
  return {moments, Vector{input}, moments, Vector{target}};
}

TEST(Distance, IsThatOfTheFarthestNumber) {
  RunningMoments moments(2);
  for (int n = 0; n < 100; ++n)
    moments.add(Vector{n % 2 == 0 ? 1.0 : -1.0, n % 2 == 0 ? 12.0 : 8.0});
  const Distance distance(moments, Vector{3, 10}, moments, Vector{0, 110});
  EXPECT_NEAR(distance.input, 3, 0.1);
  EXPECT_NEAR(distance.target, 50, 1);
  EXPECT_EQ(distance.side, 1);
  EXPECT_EQ(Distance(moments, Vector{0, 0}, moments, Vector{-100, -190}).side, -1);
  EXPECT_EQ(Distance(moments, Vector{0, 0}, moments, Vector{-100, 190}).side, 0);
}

TEST(Belief, TheThirdInARowIsBelieved) {
  for (const bool target : {true, false}) {
    Belief belief;
    const auto believes = [&](double v) {
      return belief.believes(distance_of(target ? 0 : v, target ? v : 0));
    };
    for (const double wild : {target ? 21.0 : 1001.0, -1e9}) {
      EXPECT_TRUE(believes(target ? 19 : 999));
      EXPECT_FALSE(believes(wild));
      EXPECT_FALSE(believes(-wild));
      EXPECT_TRUE(believes(0));  // not in a row
      EXPECT_FALSE(believes(wild));
      EXPECT_FALSE(believes(-wild));
      EXPECT_TRUE(believes(wild));
    }
  }
}

TEST(Belief, TheSecondIsBelievedWhereTargetsStay) {
  Belief belief;
  const auto believes = [&](double d) { return belief.believes(distance_of(0, d)); };
  for (const double wild : {21.0, -1e9}) {
    EXPECT_FALSE(believes(wild));
    EXPECT_TRUE(believes(2 * wild));
    EXPECT_TRUE(believes(0));
    EXPECT_FALSE(believes(wild));
    EXPECT_FALSE(believes(-wild));  // on the other side: the third it is
    EXPECT_TRUE(believes(wild));
    EXPECT_TRUE(believes(0));
  }
}

}  // namespace
}  // namespace kalstream
