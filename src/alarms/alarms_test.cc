// Alarms: their start, end and kind, limits, silence, verdicts, and what a checkpoint keeps.
#include "alarms/alarms.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

/// A series of one target whose prediction is 0, and all that was told of it.
struct Told {
  explicit Told(const AlarmOptions& options = {.strangeness = true}) : alarms(options, 1) {}

  const AlarmNews* next(double d, double p = 0.5) {
    ++sample;
    const AlarmNews* news =
        alarms.take({sample, "t" + std::to_string(sample)}, Vector{0}, Vector{p}, Vector{d});
    keep(news);
    return news;
  }
  void missing() {
    ++sample;
    keep(alarms.take_missing());
  }
  void ordinary(int rows) {
    for (int t = 0; t < rows; ++t) next(rng.normal());
  }
  void keep(const AlarmNews* news) {
    if (news == nullptr) return;
    (news->alarm.is_over() ? ended : started).push_back(news->alarm);
  }

  Rng rng{1};
  Alarms alarms;
  std::uint64_t sample = 0;
  std::vector<AlarmEvent> started, ended;
};

TEST(Alarms, ASpikeHasAStartAndAnEnd) {
  Told told;
  told.ordinary(1000);
  ASSERT_TRUE(told.started.empty());
  const AlarmNews* news = told.next(40, 1e-8);
  ASSERT_NE(news, nullptr);
  EXPECT_TRUE(news->is_new);
  EXPECT_EQ(news->alarm.start.sample, 1001U);
  EXPECT_EQ(news->alarm.start.time, "t1001");
  told.ordinary(100);
  ASSERT_EQ(told.ended.size(), 1U);
  const AlarmEvent& alarm = told.ended[0];
  EXPECT_EQ(alarm.kind, AlarmKind::spike);
  EXPECT_EQ(alarm.value, 40);
  EXPECT_GE(alarm.severity, 1);
  EXPECT_EQ(alarm.start.sample, 1001U);
  EXPECT_GT(alarm.end.sample, 1001U);
  EXPECT_LT(alarm.end.sample, 1040U);
}

TEST(Alarms, LevelAndDriftAreToldApart) {
  Told level;
  level.ordinary(2000);
  for (int t = 0; t < 100; ++t) level.next(20 + level.rng.normal(), t == 0 ? 1e-8 : 0.01);
  level.ordinary(100);
  ASSERT_EQ(level.ended.size(), 1U);
  EXPECT_EQ(level.ended[0].kind, AlarmKind::level);

  Told drift;
  drift.ordinary(2000);
  for (int t = 0; t < 200; ++t) drift.next(0.1 * t + drift.rng.normal(), 1e-4);
  drift.ordinary(100);
  ASSERT_EQ(drift.ended.size(), 1U);
  EXPECT_EQ(drift.ended[0].kind, AlarmKind::drift);
}

TEST(Alarms, LargeErrorsOnBothSidesAreASpread) {
  Told told;
  told.ordinary(2000);
  for (int t = 0; t < 100; ++t) told.next(8 * told.rng.normal(), 1e-3);
  told.ordinary(100);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended[0].kind, AlarmKind::spread);
}

TEST(Alarms, AStuckValueIsOverWhenItChanges) {
  Told told;
  told.ordinary(1000);
  for (int t = 0; t < 100; ++t) told.next(0.5);
  ASSERT_EQ(told.started.size(), 1U);
  told.ordinary(40);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended[0].kind, AlarmKind::stuck);
  EXPECT_EQ(told.ended[0].end.sample, 1101U);
}

TEST(Alarms, LimitsAreToldFromTheFirstSampleOn) {
  Told told({.above = 90, .below = -5});
  EXPECT_EQ(told.next(90), nullptr);
  const AlarmNews* news = told.next(91);
  ASSERT_NE(news, nullptr);
  EXPECT_EQ(news->alarm.kind, AlarmKind::above);
  EXPECT_TRUE(told.alarms.strangeness().empty());
  EXPECT_EQ(told.next(95), nullptr);
  for (int t = 0; t < 10; ++t) told.next(50);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended[0].start.sample, 2U);
  EXPECT_EQ(told.ended[0].end.sample, 4U);
  EXPECT_EQ(told.ended[0].value, 95);
  ASSERT_NE(told.next(-6), nullptr);
  EXPECT_EQ(told.started.back().kind, AlarmKind::below);
}

TEST(Alarms, OfSeveralTargetsTheStrangestIsNamed) {
  Rng rng(3);
  Alarms alarms({.strangeness = true, .above = 1000}, 2);
  for (int t = 0; t < 500; ++t)
    EXPECT_EQ(alarms.take({}, Vector{0, 0}, Vector{0.5, 0.5}, Vector{rng.normal(), rng.normal()}),
              nullptr);
  const AlarmNews* news = alarms.take({501}, Vector{0, 0}, Vector{0.5, 1e-9}, Vector{0, 50});
  ASSERT_NE(news, nullptr);
  EXPECT_EQ(news->alarm.output, 1U);
  EXPECT_EQ(news->alarm.value, 50);
}

// ---- Silence.

TEST(Alarms, MissingTargetsAreASilence) {
  Told told;
  told.ordinary(200);
  for (int t = 0; t < 9; ++t) told.missing();
  EXPECT_TRUE(told.started.empty());
  told.missing();
  ASSERT_EQ(told.started.size(), 1U);
  EXPECT_EQ(told.started[0].kind, AlarmKind::silence);
  EXPECT_EQ(told.started[0].start.sample, 200U);
  told.missing();
  told.ordinary(1);
  ASSERT_EQ(told.ended.size(), 1U);
  EXPECT_EQ(told.ended[0].end.sample, 212U);
  EXPECT_GT(told.ended[0].severity, 1);
}

TEST(Alarms, SamplesThatDidNotComeAreASilenceThatIsOver) {
  Told told;
  told.ordinary(200);
  told.alarms.pass(50);
  const AlarmNews* news = told.next(0.1);
  ASSERT_NE(news, nullptr);
  EXPECT_TRUE(news->is_new);
  EXPECT_TRUE(news->alarm.is_over());
  EXPECT_EQ(news->alarm.kind, AlarmKind::silence);
  EXPECT_EQ(news->alarm.start.sample, 200U);
  EXPECT_EQ(news->alarm.end.sample, 201U);
}

TEST(Alarms, SilenceThatComesEveryNightIsUsual) {
  Told told;
  for (int night = 0; night < 30; ++night) {
    told.ordinary(100);
    told.alarms.pass(14);
  }
  EXPECT_LE(told.ended.size(), 1U);
}

TEST(Alarms, WhatIsStrangeAfterASilenceIsToldAsWell) {
  Told told;
  told.ordinary(500);
  told.alarms.pass(50);
  told.next(60, 1e-9);
  EXPECT_EQ(told.ended.size(), 1U);
  told.next(60, 1e-9);
  ASSERT_EQ(told.started.size(), 1U);
  EXPECT_NE(told.started[0].kind, AlarmKind::silence);
}

// ---- Verdicts.

TEST(Alarms, VerdictsMoveWhatIsTold) {
  const auto found = [](std::optional<bool> verdict) {
    Told told;
    told.ordinary(1000);
    told.next(12, 1e-8);
    told.ordinary(200);
    for (int times = 0; times < 3 && verdict; ++times) told.alarms.judge(*verdict);
    const std::size_t before = told.started.size();
    told.next(-12, 1e-8);
    return told.started.size() - before;
  };
  EXPECT_EQ(found({}), 1U);
  EXPECT_EQ(found(true), 1U);
  EXPECT_EQ(found(false), 0U);
}

TEST(Alarms, VerdictsHaveBounds) {
  Alarms alarms({.strangeness = true}, 1);
  for (int times = 0; times < 100; ++times) alarms.judge(true);
  EXPECT_EQ(alarms.least_severity(), 0.5);
  for (int times = 0; times < 100; ++times) alarms.judge(false);
  EXPECT_EQ(alarms.least_severity(), 8);
}

// ---- Checkpoints.

TEST(Alarms, GoOnFromACheckpointToTheSameBits) {
  const AlarmOptions options{.strangeness = true, .above = 30};
  Alarms whole(options, 1);
  Alarms other(options, 1);
  Rng rng(5);
  int told = 0;
  for (std::uint64_t t = 1; t < 3000; ++t) {
    const bool odd = t % 700 > 650;
    const Vector d{(odd ? 25 : 0) + rng.normal()};
    const Vector p{odd ? 1e-5 : 0.4};
    if (t % 11 == 0) {
      Alarms next(options, 1);
      test::set_state(next, test::state_of(other));
      other = next;
    }
    if (t % 500 == 0)
      for (Alarms* one : {&whole, &other}) one->pass(40);
    if (t == 1500)
      for (Alarms* one : {&whole, &other}) one->judge(true);
    const AlarmTime at{t, std::to_string(t)};
    const AlarmNews* a = whole.take(at, Vector{0}, p, d);
    const AlarmNews* b = other.take(at, Vector{0}, p, d);
    ASSERT_EQ(a == nullptr, b == nullptr) << t;
    ASSERT_TRUE(test::state_of(whole) == test::state_of(other)) << t;
    if (a == nullptr) continue;
    ++told;
    EXPECT_EQ(a->is_new, b->is_new);
    EXPECT_EQ(a->alarm.kind, b->alarm.kind);
    EXPECT_EQ(a->alarm.severity, b->alarm.severity);
    EXPECT_EQ(a->alarm.start.time, b->alarm.start.time);
  }
  EXPECT_GT(told, 5);
}

}  // namespace
}  // namespace kalstream
