#include "monitor/top_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support.h"
#include "view/table.h"

namespace kalstream {
namespace {

StreamStatus some_status() {
  StreamStatus s;
  s.learner = "auto";
  s.version = "1.0";
  s.uptime_seconds = 3700;
  s.counts.samples = 1234567;
  s.errors = {.nse = 0.5, .rmse = 2, .mae = 1};
  s.coverage_nominal = 0.9;
  s.coverage = 0.91;
  s.coverage_recent = 0.5;
  for (int i = 0; i < 40; ++i) {
    s.expert_names.push_back("expert " + std::to_string(i));
    s.expert_weights.push_back(i == 7 ? 0.61 : 0.01);
  }
  s.warnings[static_cast<std::size_t>(Warning::drift)] = 2;
  return s;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(TopView, ShowsWhatMatters) {
  const auto lines = top_view(some_status(), {.past_errors = {1, 2, 3}}, 100, 30);
  for (const char* part : {"auto", "up 1 h 1 m", "1,234,567", "0.5000", "50.0 %", "of 90 %", "▁▅█",
                           "2 drift", "expert 7", "0.610", "more"})
    EXPECT_TRUE(has(lines, part)) << part;
  EXPECT_FALSE(has(lines, "\x1b"));
}

TEST(TopView, FitsEveryTerminal) {
  StreamStatus status = some_status();
  status.learner = std::string(300, 'l');
  status.expert_names[7].assign(300, 'e');
  status.expert_names[7] += "\x1b[31m\n";
  TopContext context{.past_errors = std::vector<double>(500, 1.5),
                     .source = "127.0.0.1:1",
                     .trouble = std::string(200, 't')};
  for (const StreamStatus& s : {status, StreamStatus{}})
    for (std::size_t width = 0; width < 140; width += 3 * test::one_in(5))
      for (std::size_t height = 1; height < 50; ++height) {
        const auto lines = top_view(s, context, width, height);
        EXPECT_LE(lines.size(), height);
        for (const auto& line : lines) {
          EXPECT_LE(view::display_width(line), width) << line;
          EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos);
        }
      }
}

TEST(TopView, TheHeaviestExpertsFirst) {
  const auto lines = top_view(some_status(), {}, 100, 1000);
  const auto seventh = std::ranges::find_if(
      lines, [](const auto& line) { return line.find("expert 7 ") != std::string::npos; });
  const auto first = std::ranges::find_if(
      lines, [](const auto& line) { return line.find("expert 0 ") != std::string::npos; });
  EXPECT_LT(seventh, first);
  EXPECT_TRUE(has(lines, "expert 39"));
}

// As `auto` weighs its experts: together 1, each anything.
TEST(TopView, WeightsMayBeNegative) {
  StreamStatus status;
  status.expert_names = {"a", "b", "c", "d"};
  status.expert_weights = {-0.5, 2, 0.25, std::nan("")};
  const auto lines = top_view(status, {}, 60, 30);
  const auto line = [&](const std::string& part) {
    return std::ranges::find_if(lines, [&](const auto& l) { return l.find(part) != l.npos; });
  };
  EXPECT_LT(line("2.000"), line("-0.500"));
  EXPECT_LT(line("-0.500"), line("0.250"));
  for (const auto& l : lines) EXPECT_LE(view::display_width(l), 60u);
}

TEST(TopView, OneLine) {
  EXPECT_EQ(top_line(some_status()),
            "up 1 h 1 m  1234567 samples  NSE 0.5000 (recent n/a)  coverage 50.0 % of 90 %  2 "
            "warnings");
  EXPECT_EQ(top_line({}), "0 samples  0 warnings");
}

TEST(Sparkline, GoesFromTheLowestToTheHighest) {
  const std::vector<double> v = {0, 1, std::nan(""), 7, 8, 4};
  EXPECT_EQ(sparkline(v, 10), "▁▂ ██▅");
  EXPECT_EQ(sparkline(v, 2), "█▁");
  EXPECT_EQ(sparkline(std::vector<double>{3, 3}, 5), "▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{-1e308, 1e308, INFINITY}, 5), "▁█ ");
  EXPECT_EQ(sparkline({}, 5), "");
}

TEST(FormatBytes, InUnitsPeopleRead) {
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(182000000), "182 MB");
  EXPECT_EQ(format_bytes(999999999), "1.0 GB");
}

}  // namespace
}  // namespace kalstream
