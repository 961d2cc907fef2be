#include "auto/change.h"

#include <gtest/gtest.h>

#include <limits>

#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const Sight sight{.inputs = 1, .lags = 1, .outputs = 1};

// Mean 0 and deviation 1 of an input and a target.
Scale unit_scale() {
  Scale scale(sight);
  for (int n = 0; n < 100; ++n) {
    const Vector v{n % 2 == 0 ? 1.0 : -1.0};
    scale.add_inputs(v);
    scale.add_targets(v);
  }
  return scale;
}

// ---- Belief

TEST(Belief, TheThirdInARowIsBelieved) {
  const Scale scale = unit_scale();
  for (const bool target : {true, false}) {
    Belief belief;
    const auto judge = [&](double v) {
      return belief.judge(Vector{target ? 0 : v}, Vector{target ? v : 0}, scale, 100);
    };
    for (const double wild : {target ? 21.0 : 1001.0, -1e9}) {
      EXPECT_FALSE(judge(target ? 19 : 999).is_wild());
      EXPECT_FALSE(judge(wild).believed);
      EXPECT_FALSE(judge(-wild).believed);
      EXPECT_TRUE(judge(0).believed);  // not in a row
      EXPECT_FALSE(judge(wild).believed);
      EXPECT_FALSE(belief.is_sure(100));
      const auto second = judge(-wild);
      EXPECT_EQ(second.wild_target, target);
      EXPECT_EQ(second.wild_input, !target);
      EXPECT_FALSE(second.believed);
      const auto third = judge(wild);
      EXPECT_TRUE(third.is_wild() && third.believed);
      EXPECT_EQ(belief.is_sure(100), target);
    }
  }
}

TEST(Belief, TheSecondIsBelievedWhereTargetsStay) {
  const Scale scale = unit_scale();
  Belief belief;
  const auto judge = [&](double d) { return belief.judge(Vector{0}, Vector{d}, scale, 100); };
  for (const double wild : {21.0, -1e9}) {
    EXPECT_FALSE(judge(wild).believed);
    EXPECT_FALSE(belief.is_sure(100));
    EXPECT_TRUE(judge(2 * wild).believed);
    EXPECT_TRUE(belief.is_sure(100));
    EXPECT_TRUE(judge(0).believed);
    EXPECT_FALSE(judge(wild).believed);
    EXPECT_FALSE(judge(-wild).believed);  // on the other side: the third it is
    EXPECT_TRUE(judge(wild).believed);
    EXPECT_TRUE(judge(0).believed);
  }
}

TEST(Belief, NothingIsBeyondItAtFirst) {
  const Scale scale = unit_scale();
  Belief belief;
  EXPECT_FALSE(belief.judge(Vector{1e90}, Vector{1e90}, scale, Belief::first - 1).is_wild());
  EXPECT_TRUE(belief.is_sure(Belief::first - 1));
  EXPECT_TRUE(belief.judge(Vector{1e90}, Vector{1e90}, scale, Belief::first).is_wild());
}

// ---- Alarm

// Samples until there is a sign; 0 if there is none.
std::size_t time_to(Alarm::Sign wanted, Alarm& alarm, double squared_error, std::uint64_t samples) {
  for (std::size_t n = 1; n <= 300; ++n) {
    const Alarm::Sign sign = alarm.look_at(squared_error, samples + n);
    if (sign != Alarm::Sign::none) return sign == wanted ? n : 0;
  }
  return 0;
}

TEST(Alarm, ErrorsFarAboveTheUsualMeanAChange) {
  for (const double usual : {1e-6, 1.0}) {
    Alarm alarm;
    EXPECT_EQ(time_to(Alarm::Sign::changed, alarm, usual, 0), 0U);
    Alarm slightly = alarm;
    EXPECT_EQ(time_to(Alarm::Sign::changed, slightly, 3 * usual, 300), 0U);
    const std::size_t needed = time_to(Alarm::Sign::changed, alarm, 20 * usual, 300);
    EXPECT_GT(needed, 1U);
    EXPECT_LT(needed, 16U);
  }
}

TEST(Alarm, ThereIsQuietAfterIt) {
  Alarm alarm;
  EXPECT_EQ(time_to(Alarm::Sign::changed, alarm, 1, 0), 0U);
  EXPECT_NE(time_to(Alarm::Sign::changed, alarm, 100, 300), 0U);
  for (int n = 0; n < 150; ++n) EXPECT_EQ(alarm.look_at(1, 400), Alarm::Sign::none);
  for (int n = 0; n < 49; ++n) EXPECT_EQ(alarm.look_at(1e6, 600), Alarm::Sign::none);
}

// Of a learner that is no longer young.
TEST(Alarm, ErrorsThatFallFromBeyondReasonMeanTheEnd) {
  for (const double disturbed : {3.0, 100.0})
    for (const std::uint64_t samples : {0, 2000}) {
      Alarm alarm;
      EXPECT_EQ(time_to(Alarm::Sign::over, alarm, disturbed, samples), 0U);
      const std::size_t needed = time_to(Alarm::Sign::over, alarm, 0.01, samples + 300);
      EXPECT_EQ(needed > 0, disturbed > 4 && samples > 0) << disturbed << ", " << samples;
    }
}

// ---- Disturbance

struct Life {
  void live(std::size_t samples, double level, double size, bool wild = false) {
    for (std::size_t n = 0; n < samples; ++n) {
      const Vector v{level + (n % 2 == 0 ? size : -size)};
      disturbance.note(wild, scale);
      scale.add_inputs(v);
      scale.add_targets(v);
      memory.push(v, Vector{0}, v);
    }
  }
  bool asks(std::uint64_t samples = 1024) const {
    return disturbance.asks_to_begin_anew(memory, scale, samples);
  }

  Scale scale{sight};
  SampleMemory memory{sight};
  Disturbance disturbance{1};
};

TEST(Disturbance, AsksToBeginAnewWhenAllIsAsItWas) {
  Life life;
  life.live(400, 0, 1);
  EXPECT_FALSE(life.asks());
  life.live(50, 0, 1e6, true);
  EXPECT_FALSE(life.asks());
  life.live(Disturbance::calm - 2, 0, 1);
  EXPECT_FALSE(life.asks());  // not calm for long enough
  life.live(2, 0, 1);
  EXPECT_TRUE(life.asks());
  EXPECT_FALSE(life.asks(1025));   // between two looks
  EXPECT_FALSE(life.asks(16384));  // no longer young
  Life before = life;
  life.disturbance.note_begun_anew();
  EXPECT_FALSE(life.asks());  // once
  life.disturbance.reset();
  EXPECT_FALSE(life.asks() || life.disturbance.begun_anew());
  before.live(Disturbance::calm + 10, 0, 1);
  EXPECT_FALSE(before.asks());  // too long ago
}

TEST(Disturbance, ALevelThatStaysIsNone) {
  Life life;
  life.live(400, 0, 1);
  life.live(50, 0, 1e6, true);
  life.live(Disturbance::calm, 100, 1);
  EXPECT_FALSE(life.asks());
}

TEST(Disturbance, OfTheScaleItMustHaveLeft) {
  Life life;
  life.live(400, 0, 1);
  life.live(50, 0, 2, true);
  life.live(Disturbance::calm, 0, 1);
  EXPECT_FALSE(life.asks());
}

TEST(Disturbance, SamplesNotBelievedTellNothing) {
  Life life;
  life.live(400, 0, 1);
  life.live(50, 0, 1e6, true);
  for (std::size_t n = 0; n < Disturbance::calm; ++n) {
    life.disturbance.note(false, life.scale);
    life.memory.push(Vector{0}, Vector{0}, Vector{nan});
  }
  EXPECT_FALSE(life.asks());
}

}  // namespace
}  // namespace kalstream
