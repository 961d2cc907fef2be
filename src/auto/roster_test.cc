// Roster: who falls asleep, and what wakes them.
#include "auto/roster.h"

#include <gtest/gtest.h>

#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

constexpr std::size_t enough = 1500;  // samples, for one that does not pay to fall asleep

/// Three experts: one that moves nothing, one that does, and one that must not sleep.
struct Three {
  Roster roster{{true, true, false}};
  Vector moved{0, 0.1, 0};
  double squared_error = 1;

  void live(std::size_t samples) {
    for (std::size_t t = 0; t < samples; ++t) roster.learn(moved, squared_error);
  }
};

TEST(Roster, AnExpertThatMovesNothingFallsAsleep) {
  Three three;
  three.live(900);
  EXPECT_EQ(three.roster.asleep(), 0U);  // not yet judged
  three.live(600);
  EXPECT_FALSE(three.roster.is_awake(0));
  EXPECT_TRUE(three.roster.is_awake(1));
  EXPECT_TRUE(three.roster.is_awake(2));
}

TEST(Roster, SaysOnceWhoIsToChange) {
  Three three;
  std::size_t sleep = 0;
  std::size_t wake = 0;
  for (std::size_t t = 0; t < enough; ++t) {
    const Roster::Change& change = three.roster.learn(three.moved, 1);
    sleep += change.sleep.size();
    wake += change.wake.size();
  }
  EXPECT_EQ(sleep, 1U);
  EXPECT_EQ(wake, 0U);
}

TEST(Roster, LargerErrorsWakeAll) {
  Three three;
  three.moved[1] = 0;
  three.live(enough);
  EXPECT_EQ(three.roster.asleep(), 2U);
  three.squared_error = 2.5;
  three.live(100);
  EXPECT_EQ(three.roster.asleep(), 0U);
}

TEST(Roster, TrialsBecomeRare) {
  Three three;
  std::vector<std::size_t> woken;
  for (std::size_t t = 0; t < 30'000; ++t)
    if (!three.roster.learn(three.moved, 1).wake.empty()) woken.push_back(t);
  ASSERT_GE(woken.size(), 3U);
  for (std::size_t k = 2; k < woken.size(); ++k)
    EXPECT_GT(woken[k] - woken[k - 1], 3 * (woken[k - 1] - woken[k - 2]) / 2);
}

TEST(Roster, OneThatPaysInItsTrialStays) {
  Three three;
  three.live(enough);
  ASSERT_EQ(three.roster.asleep(), 1U);
  three.moved[0] = 0.01;
  three.live(5000);
  EXPECT_EQ(three.roster.asleep(), 0U);
}

TEST(Roster, GoesOnFromASnapshot) {
  Three stopped;
  stopped.live(1800);
  Three other;
  test::set_state(other.roster, test::state_of(stopped.roster));
  for (std::size_t t = 0; t < 6000; ++t) {
    const auto a = stopped.roster.learn(stopped.moved, 1);
    const auto b = other.roster.learn(other.moved, 1);
    ASSERT_EQ(a.wake, b.wake) << t;
    ASSERT_EQ(a.sleep, b.sleep) << t;
  }
}

}  // namespace
}  // namespace kalstream
