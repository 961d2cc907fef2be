#include "auto/scale.h"

#include <gtest/gtest.h>

#include <vector>

#include "support.h"

namespace kalstream {
namespace {

using test::near;
using test::Vector;

TEST(HeldMoments, StandStillUntilTheyAreFarOff) {
  HeldMoments m(2);
  EXPECT_EQ(m.standardised(0, 3, 10), 3);  // mean 0 and deviation 1 at first
  for (const double v : {1.0, 3.0, 1.0, 3.0}) m.add(Vector{v, 100 * v});
  EXPECT_EQ(m.mean(0), 0);
  m.hold();
  EXPECT_EQ(m.mean(0), 2);
  EXPECT_EQ(m.deviation(0), 1);
  EXPECT_EQ(m.mean(1), 200);
  EXPECT_EQ(m.deviation(1), 100);
  EXPECT_EQ(m.standardised(0, 4, 10), 2);
  EXPECT_EQ(m.standardised(0, 1e9, 10), 10);
  EXPECT_EQ(m.standardised(0, -1e9, 10), -10);

  for (int n = 0; n < 4; ++n) m.add(Vector{2.5, n % 2 == 0 ? 450.0 : 550.0});
  m.follow();  // the first is close to what it was; the second is 1.5 deviations higher
  EXPECT_EQ(m.mean(0), 2);
  EXPECT_EQ(m.deviation(0), 1);
  EXPECT_EQ(m.mean(1), m.running().mean(1));
  EXPECT_NEAR(m.mean(1), 350, 1e-9);
  EXPECT_EQ(m.deviation(1), m.running().deviation(1));

  m.reset();
  EXPECT_EQ(m.mean(1), 0);
  EXPECT_EQ(m.deviation(1), 1);
  EXPECT_EQ(m.running().count(), 0U);
}

TEST(HeldMoments, FollowASpreadThatGrowsOrShrinks) {
  for (const double scale : {10.0, 0.01}) {
    HeldMoments m(1);
    for (int n = 0; n < 10; ++n) m.add(Vector{n % 2 == 0 ? 1.0 : -1.0});
    m.hold();
    for (int n = 0; n < 100; ++n) m.add(Vector{n % 2 == 0 ? scale : -scale});
    EXPECT_EQ(m.deviation(0), 1);
    m.follow();
    EXPECT_EQ(m.deviation(0), m.running().deviation(0));
    EXPECT_NE(m.deviation(0), 1);
  }
}

TEST(Scale, IsTakenAnewAtEveryDoubling) {
  std::vector<std::uint64_t> due;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    if (Scale::is_due(n)) due.push_back(n);
    EXPECT_EQ(Scale::is_known(n), n >= 4);
    EXPECT_EQ(Scale::is_settled(n), n > 64);
  }
  EXPECT_EQ(due, (std::vector<std::uint64_t>{4, 8, 16, 32, 64}));
}

TEST(Scale, ShowsInputsAndPastTargets) {
  const Sight sight{.inputs = 2, .lags = 2, .outputs = 1};
  Scale scale(sight);
  for (const double v : {1.0, -1.0, 1.0, -1.0}) {
    scale.add_inputs(Vector{10 + v, 5 * v});
    scale.add_targets(Vector{100 + 2 * v});
  }
  scale.hold();
  scale.add_targets(Vector{105});  // moves the mean shown, not the scale
  Vector seen(sight.size());
  const auto shown = [&](const Vector& x, const Vector& past) {
    scale.see(x, past, seen);
    return seen;
  };
  EXPECT_TRUE(near(shown({11, 10}, {104, 96}), Vector{1, 2, 2, -2, 104, 101}, 1e-14));
  EXPECT_TRUE(
      near(shown({10 + 999, -5 * 999}, {1e9, -1e9}), Vector{10, -10, 10, -10, 1e9, 101}, 1e-14));
  EXPECT_EQ(shown({10 + 1001, -5 * 1001}, {100, 100})[0], 0);  // as good as no input
  EXPECT_EQ(seen[1], 0);
  Vector target(1);
  scale.standardise_target(Vector{110}, target);
  EXPECT_DOUBLE_EQ(target[0], 5);
  EXPECT_DOUBLE_EQ(scale.in_units(0, 5), 110);
  scale.standardise_target(Vector{1e9}, target);
  EXPECT_EQ(target[0], 20);
}

}  // namespace
}  // namespace kalstream
