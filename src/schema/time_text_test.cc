#include <gtest/gtest.h>

#include "schema/timestamp.h"

namespace kalstream {
namespace {

constexpr std::int64_t minute = 60'000'000'000;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

std::string later(const std::string& example, std::int64_t by) {
  const auto form = form_of(example);
  EXPECT_TRUE(form) << example;
  if (!form) return {};
  const auto time = parse_time(example, form->form);
  return TimeText(example, time->nanoseconds, form->form).write(time->nanoseconds + by);
}

TEST(TimeText, IsWrittenAsTheExampleIs) {
  EXPECT_EQ(later("2024-01-31 23:00:00", hour), "2024-02-01 00:00:00");
  EXPECT_EQ(later("2024-01-31T12:30:00.50Z", minute), "2024-01-31T12:31:00.50Z");
  EXPECT_EQ(later("2024-01-31 12:30:00 +0200", hour), "2024-01-31 13:30:00 +0200");
  EXPECT_EQ(later("2024-01-31T00:30:00+02:00", hour), "2024-01-31T01:30:00+02:00");
  EXPECT_EQ(later("2024-01-31T20:30:00-05:30", 5 * hour), "2024-02-01T01:30:00-05:30");
  EXPECT_EQ(later("2024/1/31", day), "2024/2/1");
  EXPECT_EQ(later("20240131", day), "20240201");
  EXPECT_EQ(later("20240131T123000", hour), "20240131T133000");
  EXPECT_EQ(later("20240131123000", hour), "20240131133000");
  EXPECT_EQ(later("2024-01", 31 * day), "2024-02");
  EXPECT_EQ(later("31.01.2024 12:30", hour), "31.01.2024 13:30");
  EXPECT_EQ(later("31/12/2006 17:24:00", 7 * hour), "01/01/2007 00:24:00");
  EXPECT_EQ(later("31-Jan-2024", day), "01-Feb-2024");
  EXPECT_EQ(later("Wed, 31 Jan 2024 12:00:00 GMT", day), "Thu, 01 Feb 2024 12:00:00 GMT");
  EXPECT_EQ(later("31/Jan/2024:12:34:56 +0000", minute), "31/Jan/2024:12:35:56 +0000");
  EXPECT_EQ(later("12/31/2006 5:24 PM", 7 * hour), "01/01/2007 12:24 AM");
  EXPECT_EQ(later("Jan 31, 2024", day), "Feb 01, 2024");
  EXPECT_EQ(later("Wed Jan 31 12:34:56 2024", day), "Thu Feb 01 12:34:56 2024");
  EXPECT_EQ(later("10/03/2004 18.00.00", hour), "10/03/2004 19.00.00");
  EXPECT_EQ(later("31. january 2024", day), "01. february 2024");
}

TEST(TimeText, WhatCannotBeFollowedIsIso) {
  EXPECT_EQ(later("2024-01-31 24:00:00", hour), "2024-02-01T01:00:00Z");
}

TEST(TimeText, NumbersStayNumbers) {
  const auto written = [](const char* example, double number, TimeForm form, std::int64_t by) {
    const auto time = time_of(number, form);
    return TimeText(example, time->nanoseconds, form).write(time->nanoseconds + by);
  };
  EXPECT_EQ(written("1700000000", 1700000000, TimeForm::seconds, minute), "1700000060");
  EXPECT_EQ(written("1700000000.0", 1700000000, TimeForm::seconds, minute / 120), "1700000000.5");
  EXPECT_EQ(written("1700000000000", 1700000000000, TimeForm::milliseconds, minute),
            "1700000060000");
  const auto tick = tick_of("0.2");
  ASSERT_TRUE(tick);
  EXPECT_EQ(TimeText("0.2", *tick, TimeForm::number).write(*tick + 100'000'000), "0.3");
  EXPECT_EQ(TimeText("7", *tick_of("7"), TimeForm::number).write(*tick_of("8")), "8");
  EXPECT_FALSE(tick_of("1e300"));
  EXPECT_FALSE(tick_of("x"));
}

}  // namespace
}  // namespace kalstream
