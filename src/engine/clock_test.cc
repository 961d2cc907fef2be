#include "engine/clock.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/archive.h"
#include "core/rng.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

using Kind = StreamClock::Kind;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

std::int64_t moment(const char* text) {
  return parse_time(text, TimeForm::year_first)->nanoseconds;
}

void go(StreamClock& clock, std::int64_t from, std::int64_t step, int samples) {
  for (int k = 0; k < samples; ++k) clock.take(from + k * step);
}

TEST(StreamClock, FindsTheStepFromAFewSamples) {
  StreamClock clock;
  go(clock, 0, hour, 3);
  EXPECT_FALSE(clock.step());
  clock.take(3 * hour);
  ASSERT_TRUE(clock.step());
  EXPECT_EQ(clock.text(), "1 hour");
  EXPECT_EQ(clock.periods(), (std::vector<double>{24, 168}));
  EXPECT_EQ(*clock.after(2), 5 * hour);
  EXPECT_EQ(clock.take_remark(), "the step between samples is 1 hour");
  EXPECT_EQ(clock.take_remark(), "");
}

TEST(StreamClock, CountsWhatIsMissing) {
  StreamClock clock;
  go(clock, 0, hour, 5);
  EXPECT_EQ(clock.take(8 * hour).missing, 3U);
  EXPECT_EQ(clock.take(9 * hour).missing, 0U);
  // A gap among the first few does not hide the step.
  StreamClock other;
  for (const int h : {0, 1, 4, 5}) other.take(h * hour);
  EXPECT_EQ(other.text(), "1 hour");
}

TEST(StreamClock, DoesNotWalkThroughYears) {
  StreamClock clock;
  go(clock, 0, second, 5);
  clock.take_remark();
  EXPECT_EQ(clock.take(365 * day).missing, 0U);
  EXPECT_NE(clock.take_remark().find("31535995 samples are missing"), std::string::npos);
  EXPECT_EQ(clock.take(365 * day + second).missing, 0U);
}

TEST(StreamClock, TellsLateFromRepeated) {
  StreamClock clock;
  go(clock, 0, hour, 10);
  EXPECT_EQ(clock.take(9 * hour).kind, Kind::repeated);
  EXPECT_EQ(clock.take(7 * hour).kind, Kind::late);
  const auto next = clock.take(10 * hour);
  EXPECT_EQ(next.kind, Kind::next);
  EXPECT_EQ(next.missing, 0U);
}

TEST(StreamClock, MonthsQuartersYearsAreRegular) {
  StreamClock months;
  for (const char* t : {"2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"})
    months.take(moment(t));
  EXPECT_EQ(months.text(), "1 month");
  EXPECT_EQ(months.periods(), std::vector<double>{12});
  EXPECT_EQ(*months.after(11), moment("2025-03-01"));
  EXPECT_EQ(months.take(moment("2024-07-01")).missing, 2U);

  StreamClock ends;
  for (const char* t : {"2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31"})
    ends.take(moment(t));
  EXPECT_EQ(ends.text(), "1 month");
  EXPECT_EQ(*ends.after(1), moment("2024-04-30"));
  EXPECT_EQ(ends.take(moment("2024-04-30")).missing, 0U);

  StreamClock quarters;
  for (const char* t : {"2023-01-01", "2023-04-01", "2023-07-01", "2023-10-01"})
    quarters.take(moment(t));
  EXPECT_EQ(quarters.text(), "1 quarter");
  EXPECT_EQ(quarters.periods(), std::vector<double>{4});

  StreamClock years;
  for (const char* t : {"1999-01-01", "2000-01-01", "2001-01-01", "2002-01-01"})
    years.take(moment(t));
  EXPECT_EQ(years.text(), "1 year");
  EXPECT_TRUE(years.periods().empty());
}

TEST(StreamClock, WeekendsOfWorkdaysAreNotMissing) {
  StreamClock clock;
  std::uint64_t missing = 0;
  const std::int64_t monday = moment("2024-01-01");
  for (int week = 0; week < 10; ++week)
    for (int d = 0; d < 5; ++d) {
      const auto verdict = clock.take(monday + (7 * week + d) * day);
      if (week >= 3) missing += verdict.missing;
    }
  EXPECT_EQ(clock.text(), "1 workday");
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(*clock.after(1), monday + 70 * day);  // from Friday to Monday
  EXPECT_EQ(clock.take(monday + 71 * day).missing, 1U);
}

TEST(StreamClock, ToleratesJitterAndDrift) {
  Rng rng(3);
  for (const double drift : {0.0, 0.02}) {
    StreamClock clock;
    std::uint64_t missing = 0;
    for (int k = 0; k < 500; ++k) {
      const double at = 60.0 * k * (1 + drift) + 10 * (rng.uniform() - 0.5);
      const auto verdict = clock.take(std::llround(at * second));
      EXPECT_EQ(verdict.kind, Kind::next);
      missing += verdict.missing;
    }
    EXPECT_EQ(missing, 0U) << drift;
    if (drift == 0) {
      EXPECT_EQ(clock.text(), "1 minute");
    }
  }
}

TEST(StreamClock, FollowsANewStep) {
  StreamClock clock;
  go(clock, 0, 5 * minute, 50);
  const std::int64_t then = clock.last();
  for (int k = 1; k <= 30; ++k) EXPECT_EQ(clock.take(then + k * minute).missing, 0U) << k;
  EXPECT_EQ(clock.text(), "1 minute");
  const std::int64_t now = clock.last();
  std::uint64_t late_missing = 0;
  for (int k = 1; k <= 30; ++k) {
    const auto verdict = clock.take(now + k * 10 * minute);
    if (k > 15) late_missing += verdict.missing;
  }
  EXPECT_EQ(clock.text(), "10 minutes");
  EXPECT_EQ(late_missing, 0U);
}

TEST(StreamClock, SaysThatSamplesComeAtAnyTime) {
  StreamClock clock;
  Rng rng(9);
  double at = 0;
  std::uint64_t missing = 0;
  for (int k = 0; k < 2000; ++k) {
    at += -std::log(1 - rng.uniform());
    missing += clock.take(std::llround(at * 60 * second)).missing;
  }
  EXPECT_TRUE(clock.is_irregular());
  EXPECT_EQ(missing, 0U);
  EXPECT_TRUE(clock.periods().empty());
  EXPECT_FALSE(clock.after(1));
  EXPECT_NEAR(clock.elapsed(clock.last() + 5 * second), 5, 1e-9);
}

TEST(StreamClock, FollowsATimeThatWasSetBack) {
  StreamClock clock;
  go(clock, 1000 * hour, hour, 200);
  int turned_away = 0;
  for (int k = 0; k < 100; ++k) turned_away += clock.take(k * hour).kind == Kind::next ? 0 : 1;
  EXPECT_EQ(turned_away, 3);
  EXPECT_EQ(clock.text(), "1 hour");
  EXPECT_FALSE(clock.is_off());
}

TEST(StreamClock, TimesThatSamplesShareAreNoClock) {
  StreamClock clock;
  int turned_away = 0;
  for (int k = 0; k < 300; ++k) turned_away += clock.take(k / 10 * day).kind == Kind::next ? 0 : 1;
  EXPECT_TRUE(clock.is_off());
  EXPECT_EQ(turned_away, 3);
  EXPECT_NE(clock.take_remark().find("--time none"), std::string::npos);
  // Nor are those in no order.
  StreamClock shuffled;
  Rng rng(4);
  for (int k = 0; k < 300; ++k)
    shuffled.take(static_cast<std::int64_t>(rng.uniform() * 1e6) * hour);
  EXPECT_TRUE(shuffled.is_off());
}

TEST(StreamClock, ACounterIsAClockWithoutCalendar) {
  StreamClock clock;
  for (int k = 0; k < 20; ++k) clock.take(k * second / 10, /*calendar=*/false);
  EXPECT_EQ(clock.text(), "0.1");
  EXPECT_TRUE(clock.periods().empty());
}

TEST(StreamClock, PeriodsFitTheStep) {
  const auto periods = [](std::int64_t step) { return calendar_periods({.count = step}); };
  using List = std::vector<double>;
  EXPECT_EQ(periods(second), (List{60, 3600}));
  EXPECT_EQ(periods(minute), (List{60, 1440}));
  EXPECT_EQ(periods(5 * minute), (List{288, 2016}));
  EXPECT_EQ(periods(30 * minute), (List{48, 336}));
  EXPECT_EQ(periods(hour), (List{24, 168}));
  EXPECT_EQ(periods(day), (List{7, 365.25}));
  EXPECT_EQ(periods(7 * day), (List{365.25 / 7}));
  EXPECT_EQ(periods(400 * day), List{});
}

TEST(StreamClock, GoesOnFromACheckpoint) {
  StreamClock clock;
  go(clock, 0, hour, 20);
  std::vector<std::byte> bytes;
  Archive to(bytes);
  clock.exchange(to);
  StreamClock other;
  Archive from{std::span<const std::byte>(bytes)};
  other.exchange(from);
  EXPECT_EQ(from.left(), 0U);
  EXPECT_EQ(other.step(), clock.step());
  EXPECT_EQ(other.take(23 * hour).missing, 3U);
  EXPECT_EQ(other.take(23 * hour).kind, Kind::repeated);
}

}  // namespace
}  // namespace kalstream
