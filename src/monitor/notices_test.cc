#include "monitor/notices.h"

#include <gtest/gtest.h>

namespace kalstream {
namespace {

using std::chrono::seconds;

const Notices::Clock::time_point start{seconds(1000)};

TEST(Notices, FirstOfAKindAtOnceThenOneAMinute) {
  Notices notices;
  EXPECT_EQ(notices.add(Warning::drift, "one", start), "one");
  EXPECT_EQ(notices.add(Warning::drift, "two", start + seconds(1)), std::nullopt);
  EXPECT_EQ(notices.add(Warning::drift, "three", start + seconds(59)), std::nullopt);
  EXPECT_EQ(notices.add(Warning::stuck_input, "other", start + seconds(2)), "other");
  EXPECT_EQ(notices.add(Warning::drift, "four", start + seconds(60)), "four (and 2 more)");
  EXPECT_EQ(notices.add(Warning::drift, "five", start + seconds(119)), std::nullopt);
  EXPECT_EQ(notices.add(Warning::drift, "six", start + seconds(600)), "six (and 1 more)");
  EXPECT_EQ(notices.add(Warning::drift, "seven", start + seconds(700)), "seven");
  EXPECT_EQ(notices.counts()[static_cast<std::size_t>(Warning::drift)], 7u);
  EXPECT_EQ(notices.counts()[static_cast<std::size_t>(Warning::stuck_input)], 1u);
}

TEST(Notices, WhatWasHeldBackIsSaidWhenItsTimeComes) {
  Notices notices(seconds(10));
  EXPECT_EQ(notices.due(start), "");
  notices.add(Warning::refused_line, "line 1", start);
  for (int line = 2; line < 5; ++line)
    notices.add(Warning::refused_line, "line " + std::to_string(line), start + seconds(1));
  EXPECT_EQ(notices.due(start + seconds(9)), "");
  EXPECT_EQ(notices.due(start + seconds(10)), "line 4 (and 2 more)\n");
  EXPECT_EQ(notices.due(start + seconds(30)), "");
  // That was one, so the next has to wait again.
  EXPECT_EQ(notices.add(Warning::refused_line, "line 5", start + seconds(19)), std::nullopt);
  EXPECT_EQ(notices.rest(), "line 5\n");
  EXPECT_EQ(notices.rest(), "");
}

}  // namespace
}  // namespace kalstream
