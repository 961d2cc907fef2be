// `kalstream forecast`, and times in `run` and `stream`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace forecast_test {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string hour_text(int h) {
  char text[32];
  std::snprintf(text, sizeof text, "%02d/%02d/2024 %d:00 %s", 1 + h / 720, 1 + h / 24 % 30,
                (h % 12 + 11) % 12 + 1, h % 24 < 12 ? "AM" : "PM");
  return text;
}

double temp(int h) { return 10 + 5 * std::sin(0.7 * h) + 2 * std::sin(0.013 * h * h); }

// Hours with a course of the day that the temperature is part of; those of `absent` are missing,
// and after `end` only the temperature is known.
std::string load_file(int rows, const std::set<int>& absent = {}, int ahead = 0) {
  std::ostringstream text;
  text << "when,temp,wind,load\n";
  for (int h = 0; h < rows + ahead; ++h) {
    if (absent.contains(h)) continue;
    text << hour_text(h) << ',' << temp(h) << ',';
    if (h < rows)
      text << std::sin(3.0 * h) << ',' << 100 + 20 * std::sin(2 * M_PI * h / 24) - 3 * temp(h);
    else
      text << ',';
    text << '\n';
  }
  return text.str();
}

// Forecasts and all bounds, in the end and of the past.
TEST(Forecast, StaysBetweenFloorAndCeiling) {
  Workplace w;
  w.file("load.csv", load_file(300));
  const std::string command = "forecast load.csv --learner ar --horizon 12 --interval 0.5,0.99 ";
  const Ran free = w.kalstream(command + "--json - --quiet");
  const Ran held = w.kalstream(command + "--floor 70 --ceiling 75 --backtest --json - --quiet");
  ASSERT_EQ(held.exit_code, fine) << held.err;
  std::size_t beyond = 0;
  const Json of_free = Json::parse(free.out)["forecast"];
  const Json of_held = Json::parse(held.out)["forecast"];
  for (std::size_t lead = 0; lead < 12; ++lead)
    for (const char* part : {"value", "low", "high", "low_0.5", "high_0.5"}) {
      const double v = of_free[lead][part];
      EXPECT_EQ(of_held[lead][part], std::clamp(v, 70.0, 75.0)) << lead << part;
      beyond += v < 70 || v > 75 ? 1 : 0;
    }
  EXPECT_GT(beyond, 0U);
  const Ran wrong = w.kalstream(command + "--floor 3 --ceiling 3");
  EXPECT_THAT(wrong.err, HasSubstr("--floor must be less than --ceiling"));
}

TEST(Forecast, CountsHaveALossOfTheirOwn) {
  Workplace w;
  std::string counts = "y\n";
  for (int t = 0; t < 400; ++t) counts += std::to_string(t % 7 == 0 ? 9 : t % 3) + "\n";
  w.file("counts.csv", counts);
  const std::string command = "forecast counts.csv --horizon 7 --lags 7 --loss poisson --json - ";
  const Ran ran = w.kalstream(command + "--learner alg1 --quiet");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const Json forecasts = Json::parse(ran.out)["forecast"];
  for (const Json& lead : forecasts) EXPECT_GT(lead["value"], 0);
  EXPECT_THAT(w.kalstream(command).err, HasSubstr("choose a network"));
}

// Where hardly a day is shown, times of the day.
TEST(Forecast, PicturesHaveRoundTimes) {
  Workplace w;
  w.file("load.csv", load_file(40));
  const Ran ran = w.kalstream("forecast load.csv --learner ar --horizon 6 --plot p.svg --quiet");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(read_text(w.path("p.svg")),
              AllOf(HasSubstr("2024-01-02 00:00"), HasSubstr("2024-01-02 12:00")));
}

TEST(Forecast, TellsWhatComesNextWithTimesAndBounds) {
  Workplace w;
  w.file("load.csv", load_file(400, {100, 101, 250}));
  const std::string command =
      "forecast load.csv --learner ar --horizon 5 --interval 0.8 --plot p.svg --csv next.csv";
  const Ran ran = w.kalstream(command);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("397 rows"), HasSubstr("step: 1 hour"),
                             HasSubstr("3 missing steps were passed"),
                             HasSubstr("periods: 24, 168 (told by the times)"),
                             HasSubstr("01/17/2024 4:00 PM"), HasSubstr("low")))
      << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("forecasts hold \"temp\", \"wind\" at their last values"));
  EXPECT_THAT(read_text(w.path("p.svg")), AllOf(HasSubstr("<svg"), HasSubstr("2024-01-1")));
  const std::string csv = read_text(w.path("next.csv"));
  EXPECT_THAT(csv, HasSubstr("lead,when,forecast,forecast_low,forecast_high\n1,"));
  EXPECT_THAT(csv, HasSubstr("01/17/2024 8:00 PM"));

  const Json json = Json::parse(
      w.kalstream("forecast load.csv --learner ar --horizon 5 --interval 0.8 --json -").out);
  EXPECT_EQ(json["models"][0]["step"], "1 hour");
  ASSERT_EQ(json["forecast"].size(), 5U);
  EXPECT_EQ(json["forecast"][0]["time"], "01/17/2024 4:00 PM");
  EXPECT_LT(json["forecast"][0]["low"], json["forecast"][0]["value"]);
  EXPECT_FALSE(json["notes"].empty());
}

TEST(Forecast, UsesInputsKnownAhead) {
  Workplace w;
  w.file("load.csv", load_file(600, {}, 12));
  const auto values = [&](const std::string& more) {
    const Ran ran = w.kalstream(
        "forecast load.csv --learner rls --lags 24 --horizon 12 --json - --target load " + more);
    EXPECT_EQ(ran.exit_code, fine) << ran.err;
    return std::pair(Json::parse(ran.out), ran.err);
  };
  const auto [known, said] = values("--future temp");
  const auto [held, said_of_held] = values("");
  double error = 0;
  double error_of_held = 0;
  for (int k = 0; k < 12; ++k) {
    const int h = 600 + k;
    const double truth = 100 + 20 * std::sin(2 * M_PI * h / 24) - 3 * temp(h);
    error += std::abs(known["forecast"][k]["value"].get<double>() - truth) / 12;
    error_of_held += std::abs(held["forecast"][k]["value"].get<double>() - truth) / 12;
  }
  EXPECT_LT(error, 2);
  EXPECT_GT(error_of_held, 2 * error);
  EXPECT_THAT(said, AllOf(HasSubstr("hold \"wind\""), Not(HasSubstr("\"temp\""))));
  EXPECT_THAT(said_of_held, HasSubstr("12 rows at the end have no target"));
  EXPECT_THAT(
      w.kalstream("forecast load.csv --target load --learner rls --horizon 20 --future temp").err,
      HasSubstr("not known for all of the horizon"));
  const Ran wrong = w.kalstream("forecast load.csv --target load --future tmp");
  EXPECT_EQ(wrong.exit_code, bad_data);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'temp'?"));
}

TEST(Forecast, BacktestsBesideSeasonalNaive) {
  Workplace w;
  w.file("load.csv", load_file(700));
  const Ran ran = w.kalstream(
      "forecast load.csv --learner rls --lags 24 --horizon 3 --inputs none --backtest --plot -");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("•"), HasSubstr("░"), HasSubstr("└─")));
  const Ran table =
      w.kalstream("forecast load.csv --learner rls --lags 24 --horizon 3 --inputs none --backtest");
  EXPECT_THAT(table.out, AllOf(HasSubstr("seasonal naive (24)"), HasSubstr("naive"),
                               HasSubstr("coverage"), HasSubstr("all")));
  EXPECT_THAT(w.kalstream("forecast load.csv --learner ar --inputs none --horizon 2 --backtest "
                          "--period 12")
                  .out,
              AllOf(HasSubstr("seasonal naive (12)"), HasSubstr("periods: 12 (--period)")));
}

TEST(Forecast, WorksWithoutTimes) {
  Workplace w;
  std::string series = "y\n";
  for (int t = 0; t < 200; ++t) series += std::to_string(std::sin(0.5 * t)) + '\n';
  w.file("series.csv", series);
  const Ran ran = w.kalstream("forecast series.csv --learner ar --horizon 2 --interval 0 --csv -");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("lead,forecast\n1,"));
  EXPECT_EQ(w.kalstream("forecast series.csv --learner ar --horizon 2 --plot p.svg").exit_code,
            fine);
  EXPECT_THAT(read_text(w.path("p.svg")), HasSubstr("steps after the last row"));
  for (const char* wrong : {"--period 1", "--period x", "--period 2,3,4,5", "--horizon 0",
                            "--horizon 1001", "--interval 1"})
    EXPECT_EQ(w.kalstream(std::string("forecast series.csv ") + wrong).exit_code, usage) << wrong;
}

// The lines of a CSV text, each from the column of this name on.
std::vector<std::string> tails(const std::string& csv, const std::string& column) {
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  const std::string before = line.substr(0, line.find("," + column + ","));
  const auto commas = std::count(before.begin(), before.end(), ',') + 1;
  std::vector<std::string> all;
  while (std::getline(in, line)) {
    std::size_t at = 0;
    for (auto k = commas; k > 0; --k) at = line.find(',', at) + 1;
    all.push_back(line.substr(at));
  }
  return all;
}

// The same samples, missing, late and repeated ones among them, through both doors.
TEST(Forecast, RunAndStreamAgreeOnTime) {
  Workplace w;
  std::string text = load_file(200, {50, 51, 52, 120});
  const std::size_t first = text.find('\n') + 1;
  text += text.substr(text.rfind('\n', text.size() - 2) + 1);               // repeated
  text += text.substr(first, text.find('\n', first) + 1 - first);           // late
  w.file("load.csv", text + load_file(203).substr(load_file(200).size()));  // and three more
  const std::string options = "--learner rls --lags 3 --horizon 2 --interval 0.8 --target load ";
  const Ran run = w.kalstream("run load.csv " + options + "--csv run.csv");
  ASSERT_EQ(run.exit_code, fine) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("4 missing steps were passed"),
                             HasSubstr("1 late rows were left out"),
                             HasSubstr("1 rows of a time that was there were left out")));
  const std::string live = "cd '" + w.path("").string() + "' && '" KALSTREAM_PROGRAM "' stream " +
                           options + "--answers csv --json s.json <load.csv >stream.csv 2>said.txt";
  ASSERT_EQ(std::system(live.c_str()), 0);
  const Json said = Json::parse(read_text(w.path("s.json")));
  EXPECT_EQ(said["never_came"], 4);
  EXPECT_EQ(said["repeated"], 1);
  EXPECT_EQ(said["too_late"], 1);
  EXPECT_EQ(said["step"], "1 hour");
  EXPECT_EQ(said["samples"], 199);
  EXPECT_THAT(read_text(w.path("said.txt")),
              AllOf(HasSubstr("the step between samples is 1 hour"), HasSubstr("4 never came"),
                    HasSubstr("there was a sample of this time")));
  EXPECT_EQ(tails(read_text(w.path("run.csv")), "target"),
            tails(read_text(w.path("stream.csv")), "target"));
}

}  // namespace forecast_test
}  // namespace kalstream::test
