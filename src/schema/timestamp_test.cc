#include "schema/timestamp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace kalstream {
namespace {

using enum TimeForm;

/// The moment of a text, in whatever form it is found to be written.
std::string moment(std::string_view text) {
  const auto form = form_of(text);
  if (!form) return "none";
  const auto time = parse_time(text, form->form);
  return time ? iso_text(time->nanoseconds) : "not of the form that was found";
}

struct Case {
  const char* text;
  TimeForm form;
  const char* moment;
};

TEST(Timestamp, FormsPeopleWrite) {
  for (const Case& c : {
           Case{"2024-01-31T12:30:00Z", year_first, "2024-01-31T12:30:00Z"},
           {"2024-01-31 12:30:00", year_first, "2024-01-31T12:30:00Z"},
           {"2024-01-31t12:30", year_first, "2024-01-31T12:30:00Z"},
           {"2024-01-31 12:30:00.25", year_first, "2024-01-31T12:30:00.25Z"},
           {"2024-01-31T12:30:00,123456789", year_first, "2024-01-31T12:30:00.123456789Z"},
           {"2024-01-31T12:30:00.1234567899Z", year_first, "2024-01-31T12:30:00.123456789Z"},
           {"2024-01-31T12:30:00+02:00", year_first, "2024-01-31T10:30:00Z"},
           {"2024-01-31T00:30:00+0200", year_first, "2024-01-30T22:30:00Z"},
           {"2024-01-31T12:30:00-05", year_first, "2024-01-31T17:30:00Z"},
           {"2024-01-31 12:30:00 +0530", year_first, "2024-01-31T07:00:00Z"},
           {"2024-01-31 12:30:00 UTC", year_first, "2024-01-31T12:30:00Z"},
           {"20240131T123000", year_first, "2024-01-31T12:30:00Z"},
           {"20240131T123000.5Z", year_first, "2024-01-31T12:30:00.5Z"},
           {"20240131T1230+01", year_first, "2024-01-31T11:30:00Z"},
           {"20240131 12:30", year_first, "2024-01-31T12:30:00Z"},
           {"20240131123000", year_first, "2024-01-31T12:30:00Z"},
           {"2024-01-31T12Z", year_first, "2024-01-31T12:00:00Z"},
           {"2024-01-31 24:00", year_first, "2024-02-01T00:00:00Z"},
           {"2016-12-31 23:59:60", year_first, "2017-01-01T00:00:00Z"},
           {"2024-01-31", year_first, "2024-01-31T00:00:00Z"},
           {"2024/1/31 7:05", year_first, "2024-01-31T07:05:00Z"},
           {"2024.01.31", year_first, "2024-01-31T00:00:00Z"},
           {"2024-Jan-31", year_first, "2024-01-31T00:00:00Z"},
           {"1949-01", year_first, "1949-01-01T00:00:00Z"},
           {"20240131", year_first, "2024-01-31T00:00:00Z"},
           {" 2024-01-31\r", year_first, "2024-01-31T00:00:00Z"},
           {"31.01.2024", day_first, "2024-01-31T00:00:00Z"},
           {"01.02.2024 12:30", day_first, "2024-02-01T12:30:00Z"},
           {"1.2.2024, 12:30:05", day_first, "2024-02-01T12:30:05Z"},
           {"31/12/2006 17:24:00", day_first, "2006-12-31T17:24:00Z"},
           {"31-12-2006", day_first, "2006-12-31T00:00:00Z"},
           {"31-Jan-2024", day_first, "2024-01-31T00:00:00Z"},
           {"31 Jan 2024 12:00", day_first, "2024-01-31T12:00:00Z"},
           {"1 september 2024", day_first, "2024-09-01T00:00:00Z"},
           {"31. Jan. 2024", day_first, "2024-01-31T00:00:00Z"},
           {"Mon, 31 Jan 2024 12:00:00 GMT", day_first, "2024-01-31T12:00:00Z"},
           {"Wed, 31 Jan 2024 12:00:00 +0100", day_first, "2024-01-31T11:00:00Z"},
           {"31/Jan/2024:12:34:56 +0000", day_first, "2024-01-31T12:34:56Z"},
           {"12/31/2006", month_first, "2006-12-31T00:00:00Z"},
           {"12/31/2006 12:15 AM", month_first, "2006-12-31T00:15:00Z"},
           {"1/2/2024, 3:04:05 PM", month_first, "2024-01-02T15:04:05Z"},
           {"1/2/2024 12:00pm", month_first, "2024-01-02T12:00:00Z"},
           {"Jan 31, 2024", month_first, "2024-01-31T00:00:00Z"},
           {"January 31 2024 12:00", month_first, "2024-01-31T12:00:00Z"},
           {"Jan. 31, 2024, 1:02 PM", month_first, "2024-01-31T13:02:00Z"},
           {"Wed Jan 31 12:34:56 2024", month_first, "2024-01-31T12:34:56Z"},
           {"Wed Jan 31 12:34:56 +0000 2024", month_first, "2024-01-31T12:34:56Z"},
           {"Wed Jan 31 12:34:56 UTC 2024", month_first, "2024-01-31T12:34:56Z"},
           {"12:30", year_first, "1970-01-01T12:30:00Z"},
           {"7:05:09.5", year_first, "1970-01-01T07:05:09.5Z"},
           {"18.00.00", year_first, "1970-01-01T18:00:00Z"},
           {"11:59 PM", year_first, "1970-01-01T23:59:00Z"},
       }) {
    EXPECT_EQ(moment(c.text), c.moment) << c.text;
    EXPECT_EQ(form_of(c.text).value_or(FoundForm{}).form, c.form) << c.text;
  }
}

TEST(Timestamp, WhatIsNoTime) {
  for (const char* text : {"",
                           " ",
                           "12.5",
                           "2024",
                           "12",
                           "1",
                           "-1",
                           "1e5",
                           "12.30",
                           "abc",
                           "May",
                           "may be",
                           "Jan",
                           "Monday",
                           "Jan 31",
                           "31 Jan",
                           "Jan 2024",
                           "2024-1",
                           "1,5",
                           "1/2",
                           "1/2/3",
                           "31/12/06",
                           "2023-02-29",
                           "1900-02-29",
                           "2024-02-30",
                           "2024-04-31",
                           "2024-00-10",
                           "2024-13-01",
                           "2024-01-32",
                           "2024-01-00",
                           "31.02.2024",
                           "13/13/2024",
                           "32-Jan-2024",
                           "2024-01-31T25:00",
                           "2024-01-31T12:60",
                           "2024-01-31T12:30:61",
                           "2024-01-31T24:00:01",
                           "2024-01-31 12:30 XM",
                           "2024-01-31 13:30 PM",
                           "2024-01-31 0:30 PM",
                           "2024-01-31T12:30:00.",
                           "2024-01-31T12:30:",
                           "2024-01-31T",
                           "2024-01-31 x",
                           "2024-01-31T12:30:00+2",
                           "2024-01-31T12:30:00+02:0",
                           "2024-01-31T12:30:00+99",
                           "2024-01-31T12:30:00 CET?",
                           "2024-01-31T12:30:00Zulu",
                           "2024-01/31",
                           "2024/01-31",
                           "20240132",
                           "20241301",
                           "18000101",
                           "99999999",
                           "12345678",
                           "1706702400",
                           "1706702400000",
                           "202401311230",
                           "20240131-123000",
                           "24:30",
                           "1:2",
                           "12:3",
                           "12:30:5",
                           "1.10.11",
                           "10.11.12.13",
                           "192.168.10.10",
                           "Janu 31, 2024",
                           "31 Janx 2024",
                           "0000-01-01",
                           "0001-01-01",
                           "1600-01-01",
                           "2300-01-01",
                           "9999-12-31",
                           "2024-01-31 12:30:00 2024-01-31",
                           "00:1A:2B",
                           "2024-01-31T12:30:00+02:00:00"})
    EXPECT_EQ(moment(text), "none") << text;
}

TEST(Timestamp, LeapYears) {
  EXPECT_EQ(moment("2024-02-29"), "2024-02-29T00:00:00Z");
  EXPECT_EQ(moment("2000-02-29"), "2000-02-29T00:00:00Z");
  EXPECT_EQ(moment("2100-02-28T23:59:59.999999999"), "2100-02-28T23:59:59.999999999Z");
  EXPECT_EQ(moment("2100-03-01"), "2100-03-01T00:00:00Z");
  EXPECT_EQ(moment("1700-03-01"), "1700-03-01T00:00:00Z");
}

TEST(Timestamp, DayAndMonthMayBeEither) {
  EXPECT_EQ(form_of("01/02/2024")->form, month_first);
  for (const char* text : {"01/02/2024", "1-2-2024 12:00", "02/02/2024"})
    EXPECT_FALSE(form_of(text)->sure) << text;
  for (const char* text : {"13/02/2024", "02/13/2024", "01.02.2024", "2024-01-02", "1 Feb 2024"})
    EXPECT_TRUE(form_of(text)->sure) << text;
  EXPECT_EQ(iso_text(parse_time("01/02/2024", day_first)->nanoseconds), "2024-02-01T00:00:00Z");
  EXPECT_EQ(iso_text(parse_time("01/02/2024", month_first)->nanoseconds), "2024-01-02T00:00:00Z");
}

TEST(Timestamp, OnlyTheFormThatIsAskedFor) {
  EXPECT_FALSE(parse_time("31/12/2024", month_first));
  EXPECT_FALSE(parse_time("12/31/2024", day_first));
  EXPECT_FALSE(parse_time("01.02.2024", month_first));
  EXPECT_FALSE(parse_time("2024-01-31", day_first));
  EXPECT_FALSE(parse_time("31.01.2024", year_first));
  EXPECT_FALSE(parse_time("Jan 31, 2024", day_first));
  for (const TimeForm form : {none, seconds, milliseconds, microseconds, nanoseconds, number})
    EXPECT_FALSE(parse_time("2024-01-31", form));
  // A time of day goes with every date.
  for (const TimeForm form : {year_first, day_first, month_first})
    EXPECT_EQ(parse_time("00:01", form)->nanoseconds, 60'000'000'000) << to_string(form);
}

TEST(Timestamp, SaysWhatItHolds) {
  const auto date = parse_time("2024-01-31", year_first);
  EXPECT_TRUE(date->has_date);
  EXPECT_FALSE(date->has_clock);
  EXPECT_FALSE(date->zoned);
  const auto clock = parse_time("12:30Z", year_first);
  EXPECT_FALSE(clock->has_date);
  EXPECT_TRUE(clock->has_clock);
  EXPECT_TRUE(clock->zoned);
  EXPECT_TRUE(parse_time("2024-01-31 12:30-01:00", year_first)->zoned);
}

TEST(Timestamp, NumbersSince1970) {
  EXPECT_EQ(epoch_form_of(1706702400), seconds);
  EXPECT_EQ(epoch_form_of(1706702400.25), seconds);
  EXPECT_EQ(epoch_form_of(1706702400e3), milliseconds);
  EXPECT_EQ(epoch_form_of(1706702400e6), microseconds);
  EXPECT_EQ(epoch_form_of(1706702400e9), nanoseconds);
  EXPECT_EQ(epoch_form_of(631152000), seconds);  // 1990 …
  EXPECT_FALSE(epoch_form_of(631151999));
  EXPECT_FALSE(epoch_form_of(4102444800));  // … to 2100
  for (const double other : {0.0, -1706702400.0, 2024.0, 20240131.0, 1e300, -1e300,
                             std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(epoch_form_of(other)) << other;

  EXPECT_EQ(iso_text(time_of(1706702400.25, seconds)->nanoseconds), "2024-01-31T12:00:00.25Z");
  EXPECT_EQ(iso_text(time_of(1706702400001, milliseconds)->nanoseconds),
            "2024-01-31T12:00:00.001Z");
  EXPECT_EQ(iso_text(time_of(1706702400000001, microseconds)->nanoseconds),
            "2024-01-31T12:00:00.000001Z");
  EXPECT_EQ(iso_text(time_of(-0.5, seconds)->nanoseconds), "1969-12-31T23:59:59.5Z");
  EXPECT_TRUE(time_of(0, seconds)->zoned);
  EXPECT_EQ(time_of(1e18, nanoseconds)->nanoseconds, 1'000'000'000'000'000'000);
  EXPECT_FALSE(time_of(1, number));
  EXPECT_FALSE(time_of(20240131, year_first));
  for (const double huge :
       {9.3e9, -9.3e9, 1e300, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(time_of(huge, seconds)) << huge;
  EXPECT_FALSE(time_of(std::pow(2.0, 63), nanoseconds));
}

TEST(Timestamp, EveryDayIsWrittenAndReadAgain) {
  constexpr std::int64_t day = 86'400'000'000'000;
  std::string before;
  for (std::int64_t d = -106'000; d < 106'000; d += 1) {
    const std::string text = iso_text(d * day + 1);
    const auto time = parse_time(text, year_first);
    ASSERT_TRUE(time) << text;
    ASSERT_EQ(time->nanoseconds, d * day + 1) << text;
    ASSERT_LT(before, text);
    before = text;
  }
  for (const std::int64_t end :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(iso_text(end).size(), std::string_view("2262-04-11T23:47:16.854775807Z").size());
  EXPECT_EQ(iso_text(0), "1970-01-01T00:00:00Z");
}

TEST(Timestamp, AnyTextDoesNoHarm) {
  constexpr std::string_view letters =
      "0123456789012345678901234567890123456789:-/., TZ+AMPJanFebMonGUC";
  std::mt19937 random(7);
  std::size_t times = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = round % 2 == 0 ? "2024-01-31T12:30:00.5+02:00" : "Mon, 31/Jan/2024:12:34:56";
    for (std::size_t k = random() % 5; k > 0; --k)
      text[random() % text.size()] = letters[random() % letters.size()];
    text.resize(random() % (text.size() + 1));
    const auto form = form_of(text);
    if (!form) continue;
    ++times;
    EXPECT_TRUE(parse_time(text, form->form)) << text;
  }
  EXPECT_GT(times, 1000U);
  EXPECT_FALSE(form_of(std::string(1'000'000, '1')));
  EXPECT_FALSE(form_of(std::string(1'000'000, ' ')));
  EXPECT_FALSE(form_of(std::string("2024-01-31\0", 11)));
}

}  // namespace
}  // namespace kalstream
