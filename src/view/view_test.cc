#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "view/chart.h"
#include "view/progress.h"
#include "view/table.h"
#include "view/test_support.h"

namespace kalstream::view {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- What all charts must be --------------------------------------------------------------------

void expect_sound(const std::string& svg) {
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(contains(svg, "viewBox=\"0 0 "));
  EXPECT_TRUE(contains(svg, "<title>"));
  EXPECT_TRUE(contains(svg, "<desc>"));
  EXPECT_TRUE(contains(svg, "prefers-color-scheme:dark"));
  const std::string drawing = svg.substr(svg.find("</style>"));
  EXPECT_FALSE(contains(drawing, "nan"));
  EXPECT_FALSE(contains(drawing, "inf"));
  EXPECT_FALSE(contains(drawing, "e+"));
}

Panel panel_of(std::vector<double> y, Scale scale = Scale::linear) {
  Panel panel;
  panel.y_scale = scale;
  panel.series.push_back({.name = "line", .x = {}, .y = std::move(y)});
  return panel;
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> all;
  for (const Tick& tick : ticks) all.push_back(tick.label);
  return all;
}

using Strings = std::vector<std::string>;

TEST(XmlReader, SeesWhatIsWrong) {
  EXPECT_EQ(xml_error("<a><b c=\"d\"/></a>"), "");
  EXPECT_NE(xml_error("<a><b></a>"), "");
  EXPECT_NE(xml_error("<a>"), "");
  EXPECT_NE(xml_error("<a>x & y</a>"), "");
  EXPECT_NE(xml_error("<a b=\"c/>"), "");
}

// ---- Ticks --------------------------------------------------------------------------------------

TEST(Ticks, LinearAreRoundAndInside) {
  EXPECT_EQ(labels(make_ticks(0, 2500, Scale::linear, 6)),
            (Strings{"0", "500", "1000", "1500", "2000", "2500"}));
  EXPECT_EQ(labels(make_ticks(-0.13, 0.26, Scale::linear, 4)),
            (Strings{"−0.1", "0", "0.1", "0.2"}));
  EXPECT_EQ(labels(make_ticks(0, 40000, Scale::linear, 2)),
            (Strings{"0", "20\u2009000", "40\u2009000"}));
}

TEST(Ticks, VeryLargeAndVerySmallArePowers) {
  EXPECT_EQ(labels(make_ticks(0, 3e-5, Scale::linear, 3)),
            (Strings{"0", "1×10⁻⁵", "2×10⁻⁵", "3×10⁻⁵"}));
  EXPECT_EQ(labels(make_ticks(0, 4e6, Scale::linear, 2)), (Strings{"0", "2×10⁶", "4×10⁶"}));
}

TEST(Ticks, LogAreDecadesOrOneTwoFive) {
  EXPECT_EQ(labels(make_ticks(1e-6, 1, Scale::log, 10)),
            (Strings{"10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"}));
  EXPECT_EQ(labels(make_ticks(0.015, 1.2, Scale::log, 8)),
            (Strings{"0.02", "0.05", "0.1", "0.2", "0.5", "1"}));
}

TEST(Ticks, AlwaysAscendingInsideAndFew) {
  const auto check = [](double low, double high, Scale scale) {
    for (int wanted = 2; wanted <= 12; ++wanted) {
      const auto ticks = make_ticks(low, high, scale, wanted);
      EXPECT_LE(ticks.size(), 2u * wanted + 1) << low << ' ' << high << ' ' << wanted;
      const double slack = 1e-5 * (high - low);
      for (std::size_t i = 0; i < ticks.size(); ++i) {
        EXPECT_GE(ticks[i].value, low - slack);
        EXPECT_LE(ticks[i].value, high + slack);
        if (i == 0) continue;
        EXPECT_GT(ticks[i].value, ticks[i - 1].value);
        EXPECT_NE(ticks[i].label, ticks[i - 1].label) << low << ' ' << high << ' ' << wanted;
      }
    }
  };
  for (const double size : {1e-290, 1e-12, 0.003, 1.0, 17.0, 98765.0, 1e12, 1e290})
    for (const double factor : {1.001, 1.1, 1.9, 7.0, 1e3, 1e9}) {
      check(size, size * factor, Scale::linear);
      check(-size, size * factor, Scale::linear);
      check(size, size * factor, Scale::log);
    }
}

// ---- Thinning -----------------------------------------------------------------------------------

std::vector<Point> noisy_line(std::size_t size, double width) {
  std::vector<Point> line;
  for (std::size_t i = 0; i < size; ++i) {
    const double t = static_cast<double>(i);
    line.push_back(
        {width * t / static_cast<double>(size), std::sin(12.9 * t) * std::cos(0.01 * t)});
  }
  return line;
}

TEST(ThinOut, LeavesShortLinesAlone) {
  const auto line = noisy_line(1500, 100);
  EXPECT_EQ(thin_out(line), line);
}

TEST(ThinOut, LeavesLinesThatRunBackwardsAlone) {
  auto line = noisy_line(5000, 100);
  std::swap(line[10], line[4000]);
  EXPECT_EQ(thin_out(line), line);
}

TEST(ThinOut, KeepsEndsAndExtremesOfEveryColumn) {
  auto line = noisy_line(100000, 100);
  line[54321].y = 50;  // one peak among a hundred thousand points
  const auto thin = thin_out(line);
  EXPECT_LE(thin.size(), 4u * 100);
  EXPECT_EQ(thin.front(), line.front());
  EXPECT_EQ(thin.back(), line.back());
  EXPECT_TRUE(std::ranges::is_sorted(thin, {}, &Point::x));

  const auto extremes = [](const std::vector<Point>& points, double column) {
    Point range{kInf, -kInf};
    for (const Point& p : points)
      if (std::floor(p.x) == column) range = {std::min(range.x, p.y), std::max(range.y, p.y)};
    return range;
  };
  for (double column = 0; column < 100; ++column)
    EXPECT_EQ(extremes(thin, column), extremes(line, column));
}

TEST(ThinOut, InventsNoPoint) {
  const auto line = noisy_line(4000, 50);
  for (const Point& p : thin_out(line)) EXPECT_NE(std::ranges::find(line, p), line.end());
}

// ---- Charts -------------------------------------------------------------------------------------

TEST(EscapeXml, MakesAnyBytesSafe) {
  EXPECT_EQ(escape_xml("a<b & \"c\" 'd'>"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;");
  EXPECT_EQ(escape_xml("ζ̄ ≤ 4"), "ζ̄ ≤ 4");
  EXPECT_EQ(escape_xml(std::string("a\0b\x1b", 4)), "a b ");
  EXPECT_EQ(escape_xml("\xff\xc3"), "\ufffd\ufffd");
  EXPECT_EQ(escape_xml("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // a surrogate
}

TEST(LineChart, OneColourPerNameOverAllPanels) {
  Panel a = panel_of({1, 2, 3});
  a.series[0].name = "first";
  Panel b = panel_of({3, 2, 1});
  b.series[0].name = "second";
  b.series.push_back(a.series[0]);
  const std::string svg = line_chart({a, b});
  expect_sound(svg);
  EXPECT_EQ(count(svg, ">first</text>"), 1u);
  EXPECT_EQ(count(svg, ">second</text>"), 1u);
  EXPECT_EQ(count(svg, "class=\"c0 line\""), 3u);  // two lines and the legend
  EXPECT_EQ(count(svg, "class=\"c1 line\""), 2u);
}

TEST(LineChart, WhatWasObservedIsDots) {
  Panel panel = panel_of({1, 2, 3, kNan, 5});
  panel.series.push_back({.name = "seen", .x = {}, .y = {1, kNan, 2, 3, 4}, .dots = true});
  panel.series.push_back({.name = "other", .x = {}, .y = {4, 3, 2, 1, 0}});
  const std::string svg = line_chart({panel});
  expect_sound(svg);
  EXPECT_EQ(count(svg, "class=\"muted solid\""), 5U) << "four and the legend's";
  EXPECT_FALSE(contains(svg, "muted line"));
  EXPECT_TRUE(contains(svg, "class=\"c1 line\"")) << "dots take none of the colours";
}

TEST(LineChart, NamesAtTheEndsOfLinesDoNotOverlap) {
  Panel panel{.direct_labels = true};
  for (int k = 0; k < 9; ++k)
    panel.series.push_back({.name = "expert " + std::to_string(k),
                            .x = {},
                            .y = {0.5, k < 7 ? 0.01 * k : 1.0},
                            .grey = k == 4});
  panel.series.push_back({.name = "nothing", .x = {}, .y = {kNan, kNan}});
  const std::string svg = line_chart({panel, panel});
  expect_sound(svg);
  const std::string drawing = svg.substr(svg.find("</style>"));
  EXPECT_FALSE(contains(drawing, "nothing"));
  EXPECT_EQ(count(drawing, "<path"), 18U);
  EXPECT_EQ(count(drawing, "class=\"grey line\"/>"), 4U) << "line and leader, in both panels";
  EXPECT_EQ(count(drawing, "dotted"), 0U) << "grey takes none of the eight colours";
  std::vector<double> heights;  // of the names of the first panel
  for (int k = 0; k < 9; ++k) {
    const auto text = drawing.find(">expert " + std::to_string(k));
    ASSERT_EQ(count(drawing, ">expert " + std::to_string(k) + "<"), 2U);
    heights.push_back(std::stod(drawing.substr(drawing.rfind("y=\"", text) + 3)));
  }
  std::ranges::sort(heights);
  for (std::size_t k = 1; k < heights.size(); ++k) EXPECT_GT(heights[k] - heights[k - 1], 12);
}

TEST(LineChart, EscapesAllTexts) {
  const std::string evil = "<&\">";
  Panel panel = panel_of({1, 2});
  panel.title = panel.subtitle = panel.x_label = panel.y_label = panel.series[0].name = evil;
  const std::string svg =
      line_chart({panel}, {.title = evil, .subtitle = evil, .description = evil});
  expect_sound(svg);
  EXPECT_GE(count(svg, "&lt;&amp;&quot;&gt;"), 8u);
}

TEST(LineChart, NanLeavesAGap) {
  const auto paths = [](const std::vector<double>& y) {
    return count(line_chart({panel_of(y)}), "<path");
  };
  EXPECT_EQ(paths({1, 2, 3, 4, 5}), 1u);
  EXPECT_EQ(paths({1, 2, kNan, 4, 5}), 2u);
  EXPECT_EQ(paths({kNan, 2, 3, kInf, 5}), 1u);  // the lone point is a dot
}

TEST(LineChart, LogScaleDropsWhatItCannotShow) {
  const std::string svg = line_chart({panel_of({1, 10, 0, -3, 100, 1000}, Scale::log)});
  expect_sound(svg);
  EXPECT_EQ(count(svg, "<path"), 2u);
}

TEST(LineChart, BandThatReachesZeroOnALogScaleStaysWhole) {
  Panel panel = panel_of({1, 2, 3}, Scale::log);
  panel.series[0].low = {0.5, 0, -1};
  panel.series[0].high = {2, 3, 4};
  const std::string svg = line_chart({panel});
  expect_sound(svg);
  EXPECT_EQ(count(svg, "c0 band\""), 1u);
}

TEST(LineChart, SurvivesDegenerateData) {
  const std::vector<std::vector<double>> columns = {{},
                                                    {1},
                                                    {kNan},
                                                    {kNan, kNan},
                                                    {kInf, -kInf},
                                                    {5, 5, 5},
                                                    {0, 0},
                                                    {1e308, -1e308},
                                                    {1e-320, 1e-310},
                                                    {-1, -2},
                                                    {1e17, 1e17 + 32},
                                                    {0, 1e-300},
                                                    {1e299, -1e299}};
  for (const auto& y : columns)
    for (const Scale scale : {Scale::linear, Scale::log}) {
      Panel panel = panel_of(y, scale);
      expect_sound(line_chart({panel}));
      panel.x_scale = scale;
      panel.series[0].x = y;
      panel.series[0].low = panel.series[0].high = y;
      expect_sound(line_chart({panel, panel}));
      panel.y_low = 3;
      panel.y_high = -2;
      expect_sound(line_chart({panel}));
    }
  expect_sound(line_chart({}));
  expect_sound(line_chart({Panel{}, Panel{}}));
  expect_sound(line_chart({panel_of({1, 2})}, {.width = 1, .columns = 9, .plot_height = 1}));
}

TEST(LineChart, SeriesOfUnequalLengthsEndWithTheShortest) {
  Panel panel = panel_of({1, 2, 3, 4});
  panel.series[0].x = {0, 1};
  panel.series[0].low = {0};
  expect_sound(line_chart({panel}));
}

TEST(LineChart, LongSeriesMakeSmallFiles) {
  std::vector<double> y(1'000'000);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::sin(static_cast<double>(i * i % 10007));
  EXPECT_LT(line_chart({panel_of(std::move(y))}).size(), 60'000u);
}

TEST(BarChart, WritesValuesAndSurvivesAnything) {
  BarPanel panel;
  panel.groups = {{"a & b", {{"one", 0.25}, {"two", -1.5}}}, {"c", {}}};
  const std::string svg = bar_chart(panel, {.title = "Bars"});
  expect_sound(svg);
  EXPECT_TRUE(contains(svg, ">0.250</text>"));
  EXPECT_TRUE(contains(svg, ">−1.50</text>"));
  EXPECT_TRUE(contains(svg, ">a &amp; b</text>"));
  BarPanel odd;
  expect_sound(bar_chart(odd));
  for (const double value : {0.0, 1.0, -1.0, 1e-300, 1e290}) {
    odd.groups.push_back({"", {{"", value}}});
    expect_sound(bar_chart(odd));
  }
  panel.groups = {{"failed", {{"", kNan}}}};
  EXPECT_TRUE(contains(bar_chart(panel), ">n/a</text>"));
}

TEST(HeatMap, FramesTheBestCell) {
  HeatMap map;
  map.x_ticks = {"1", "2", "3"};
  map.y_ticks = {"a", "b"};
  map.values = {3, 2, kNan, 0.5, 4, kNan};
  const std::string svg = heat_map(map);
  expect_sound(svg);
  EXPECT_EQ(count(svg, "class=\"frame\""), 1u);
  EXPECT_TRUE(contains(svg, "on-light strong\" text-anchor=\"middle\">0.500<"));
  EXPECT_EQ(count(svg, ">×</text>"), 2u);
}

TEST(HeatMap, SurvivesDegenerateData) {
  expect_sound(heat_map({}));
  HeatMap map;
  map.x_ticks = {"only"};
  map.y_ticks = {"one"};
  for (const auto& values : std::vector<std::vector<double>>{{}, {kNan}, {0}, {7}, {1, 2, 3}}) {
    map.values = values;
    expect_sound(heat_map(map));
  }
}

// ---- Numbers ------------------------------------------------------------------------------------

TEST(FormatNumber, SignificantDigits) {
  EXPECT_EQ(format_number(0.0123), "0.01230");
  EXPECT_EQ(format_number(0.0123456, 3), "0.0123");
  EXPECT_EQ(format_number(-12.3456), "-12.35");
  EXPECT_EQ(format_number(1.23e-5, 3), "1.23e-5");
  EXPECT_EQ(format_number(1300, 3), "1300");
  EXPECT_EQ(format_number(9999.7), "10000");
  EXPECT_EQ(format_number(1234.4), "1234");
  EXPECT_EQ(format_number(999.94), "999.9");
  EXPECT_EQ(format_number(999.97), "1000");
  EXPECT_EQ(format_number(-123.4, 3), "-123");
  EXPECT_EQ(format_number(1.2e6, 3), "1.20e6");
  EXPECT_EQ(format_number(0, 3), "0.00");
  EXPECT_EQ(format_number(kNan), "n/a");
  EXPECT_EQ(format_number(-kInf), "-∞");
}

TEST(FormatSeconds, TwoUnitsAtMost) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(2.5e-4), "250 µs");
  EXPECT_EQ(format_seconds(0.0345), "34.5 ms");
  EXPECT_EQ(format_seconds(0.9999), "1 s");
  EXPECT_EQ(format_seconds(1.24), "1.2 s");
  EXPECT_EQ(format_seconds(59.7), "1 m 0 s");
  EXPECT_EQ(format_seconds(72), "1 m 12 s");
  EXPECT_EQ(format_seconds(7500), "2 h 5 m");
  EXPECT_EQ(format_seconds(100 * 3600), "4 d 4 h");
  EXPECT_EQ(format_seconds(kNan), "n/a");
  EXPECT_EQ(format_seconds(-1), "n/a");
}

TEST(FormatCount, Thousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1.00 k");
  EXPECT_EQ(format_count(12345), "12.3 k");
  EXPECT_EQ(format_count(999'999), "1.00 M");
  EXPECT_EQ(format_count(4.56e9), "4.56 G");
}

// ---- Tables -------------------------------------------------------------------------------------

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("θ ≤ µ"), 5u);
  EXPECT_EQ(display_width("d\u0302"), 1u);  // d̂
  EXPECT_EQ(display_width("\xff\xff"), 2u);
}

TEST(Shorten, CutsBetweenCodePoints) {
  EXPECT_EQ(shorten("θθθ", 3), "θθθ");
  EXPECT_EQ(shorten("θθθθ", 3), "θθ…");
  EXPECT_EQ(shorten("abc", 1), "…");
  EXPECT_EQ(shorten("abc", 0), "");
  EXPECT_EQ(shorten("d\u0302d\u0302d\u0302", 2), "d\u0302…");
}

Table example_table() {
  Table table({{"learner", Align::left}, {"ζ̄"}, {"NSE"}});
  table.add_row({"EKF", "–", "0.12"});
  table.add_rule();
  table.add_row({"Algorithm 1", "0.01", best("0.098")});
  return table;
}

TEST(Table, AlignsByDisplayWidth) {
  EXPECT_EQ(example_table().to_text(),
            "━━━━━━━━━━━━━━━━━━━━━━━━\n"
            "learner         ζ̄    NSE\n"
            "────────────────────────\n"
            "EKF             –   0.12\n"
            "────────────────────────\n"
            "Algorithm 1  0.01  0.098\n"
            "━━━━━━━━━━━━━━━━━━━━━━━━\n");
}

TEST(Table, BoldOnlyWithColours) {
  EXPECT_FALSE(contains(example_table().to_text(false), "\x1b"));
  EXPECT_TRUE(contains(example_table().to_text(true), "  \x1b[1m0.098\x1b[0m\n"));
}

TEST(Table, Markdown) {
  EXPECT_EQ(example_table().to_markdown(),
            "| learner | ζ̄ | NSE |\n"
            "|:---|---:|---:|\n"
            "| EKF | – | 0.12 |\n"
            "| Algorithm 1 | 0.01 | **0.098** |\n");
}

TEST(Table, CellsCannotBreakTheLayout) {
  Table table({{"a"}, {"b"}});
  table.add_row({"x|y\nz"});
  EXPECT_EQ(std::ranges::count(table.to_text(), '\n'), 5);
  EXPECT_TRUE(contains(table.to_markdown(), "| x\\|y z |  |\n"));
}

// ---- Progress -----------------------------------------------------------------------------------

/// A file that only this test sees, and what was written to it.
class Captured {
 public:
  ~Captured() { std::fclose(file_); }
  std::FILE* stream() { return file_; }
  std::string text() {
    std::fflush(file_);
    std::rewind(file_);
    std::string all;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) all += static_cast<char>(c);
    return all;
  }

 private:
  std::FILE* const file_ = std::tmpfile();
};

void advance_from_threads(Progress& progress, std::size_t threads, std::size_t steps) {
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads; ++i)
    workers.emplace_back([&progress, steps] {
      for (std::size_t n = 0; n < steps; ++n) {
        progress.advance();
        if (n % 100 == 0) progress.set_note("NSE " + std::to_string(n));
      }
    });
  for (std::thread& worker : workers) worker.join();
}

/// A clock that goes on when it is told.
class Hours {
 public:
  void pass(std::chrono::milliseconds time) { now_ += time; }
  std::function<Progress::Clock::time_point()> clock() {
    return [this] { return now_; };
  }

 private:
  Progress::Clock::time_point now_{};
};

TEST(Progress, WritesNothingWhenNotEnabled) {
  Captured out;
  Hours hours;
  {
    Progress progress("run", 10, false, out.stream(), hours.clock());
    progress.set_note("note");
    progress.advance(10);
    hours.pass(std::chrono::milliseconds(150));
    progress.advance();
    progress.finish();
    EXPECT_EQ(progress.done(), 11u);
  }
  EXPECT_EQ(out.text(), "");
}

TEST(Progress, CountsStepsOfAllThreads) {
  Captured out;
  Progress progress("run", 80'000, true, out.stream());
  advance_from_threads(progress, 8, 10'000);
  EXPECT_EQ(progress.done(), 80'000u);
}

TEST(Progress, ErasesItselfAndStaysAway) {
  Captured out;
  Hours hours;
  Progress progress("run", 100, true, out.stream(), hours.clock());
  hours.pass(std::chrono::milliseconds(120));
  progress.advance(50);
  progress.finish();
  const std::string text = out.text();
  EXPECT_TRUE(contains(text, "50 %"));
  EXPECT_TRUE(text.ends_with("\r\x1b[2K"));
  hours.pass(std::chrono::milliseconds(120));
  progress.advance(50);
  progress.finish();
  EXPECT_EQ(out.text(), text);
}

TEST(Progress, DrawsAtMostTenTimesASecond) {
  Captured out;
  Hours hours;
  Progress progress("run", 1000, true, out.stream(), hours.clock());
  for (int i = 0; i < 350; ++i) {
    hours.pass(std::chrono::milliseconds(1));
    progress.advance();
  }
  EXPECT_EQ(count(out.text(), "\r"), 3u);
}

TEST(ProgressLine, FitsAnyWidth) {
  const ProgressState state{"sunspots θ", 437, 1000, 12.3, "EKF 0.123  Algorithm 2 0.098"};
  for (std::size_t width = 0; width < 200; ++width)
    EXPECT_LE(display_width(progress_line(state, width)), width);
  const std::string line = progress_line(state, 120);
  EXPECT_TRUE(line.starts_with("sunspots θ ▕█"));
  EXPECT_TRUE(contains(line, " 43 %  12 s, 16 s left  EKF"));
}

TEST(ProgressLine, OfExceededTotals) {
  EXPECT_TRUE(contains(progress_line({"", 20, 10, 2, ""}, 80), "100 %  2 s"));
}

TEST(Terminal, AFileIsNone) {
  Captured out;
  EXPECT_FALSE(is_terminal(out.stream()));
  EXPECT_FALSE(is_terminal(nullptr));
  EXPECT_EQ(terminal_width(out.stream()), 80u);
}

}  // namespace
}  // namespace kalstream::view
