// `run` and `stream` alike: what is called the same means the same; and what `run` draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows of a,b,price,load in units of their own; every gap-th a is missing, if there are gaps.
std::string priced(int rows, int gap = 0) {
  std::ostringstream text;
  text.precision(10);
  text << "a,b,price,load\n";
  unsigned state = 99;
  const auto uniform = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / (1 << 24);
  };
  for (int t = 0; t < rows; ++t) {
    const double a = std::sin(0.3 * t);
    const double b = uniform();
    if (gap == 0 || t % gap != gap - 1) text << a;
    text << "," << b << "," << 100 + 20 * a + 5 * b + 3 * uniform() << ","
         << 0.8 * a * b + 0.1 * uniform() << "\n";
  }
  return text.str();
}

class RunAndStream : public ::testing::Test {
 protected:
  // The same file and arguments through both.
  void compare(const std::string& file, const std::string& arguments) {
    const Ran batch =
        work_.kalstream("run " + file + " " + arguments + " --csv run.csv --json run.json --quiet");
    ASSERT_EQ(batch.exit_code, fine) << batch.err;
    const std::string live = "cd '" + work_.path("").string() +
                             "' && '" KALSTREAM_PROGRAM
                             "' stream --answers csv --json stream.json --quiet " +
                             arguments + " <" + file + " >stream.csv";
    ASSERT_EQ(std::system(live.c_str()), 0);
    run_ = Json::parse(read_text(work_.path("run.json")))["runs"][0];
    stream_ = Json::parse(read_text(work_.path("stream.json")));
    run_rows_ = fields_of(read_text(work_.path("run.csv")));
    stream_rows_ = fields_of(read_text(work_.path("stream.csv")));
    std::erase_if(stream_rows_, [](auto& row) { return row.at("status") == "refused"; });
  }

  void expect_same_scores() {
    for (const char* what : {"nse", "rmse", "mae"})
      EXPECT_NEAR(run_[what].get<double>() / stream_[what].get<double>(), 1, 1e-9) << what;
  }

  // Row for row, but for rows that only run counts.
  void expect_same(const std::vector<std::string>& columns) {
    std::size_t line = 0;
    for (const auto& row : run_rows_) {
      const bool skipped = row.at("prediction_price").empty();
      if (skipped) continue;
      ASSERT_LT(line, stream_rows_.size());
      for (const std::string& column : columns)
        EXPECT_EQ(row.at(column), stream_rows_[line].at(column)) << column << " " << row.at("step");
      ++line;
    }
    EXPECT_EQ(line, stream_rows_.size());
  }

  Workplace work_;
  Json run_;
  Json stream_;
  std::vector<std::map<std::string, std::string>> run_rows_;
  std::vector<std::map<std::string, std::string>> stream_rows_;
};

const std::vector<std::string> predicted{"target_price", "target_load", "prediction_price",
                                         "prediction_load"};

TEST_F(RunAndStream, ScaleByThemselvesAndScoreAlike) {
  work_.file("d.csv", priced(120));
  for (const char* learner : {"alg2 --hidden 3", "ekf --hidden 2 --unscaled --set output=identity",
                              "auto --hidden 4", "rls"}) {
    compare("d.csv", std::string("--target price,load --learner ") + learner);
    expect_same(predicted);
    expect_same_scores();
  }
}

TEST_F(RunAndStream, SurpriseIsTheSame) {
  work_.file("d.csv", priced(200));
  compare("d.csv", "--target price,load --learner ekf --hidden 2 --alarm-rate 0.05");
  auto columns = predicted;
  for (const char* what : {"surprise_price", "surprise_load", "anomaly"}) columns.push_back(what);
  expect_same(columns);
  EXPECT_EQ(run_["anomalies"], stream_["anomalies"]);
}

TEST_F(RunAndStream, StrangenessAndAlarmsAreTheSame) {
  std::string text = priced(600);
  for (int t = 0; t < 20; ++t) text += "0,0.5,500,0.3\n";
  text += priced(100).substr(std::string("a,b,price,load\n").size());
  work_.file("d.csv", text);
  compare("d.csv", "--target price,load --learner rls --strangeness --alarm-above 400");
  auto columns = predicted;
  for (const char* what : {"surprise_price", "strangeness_price", "strangeness_load"})
    columns.push_back(what);
  expect_same(columns);
  ASSERT_EQ(run_["alarms"].size(), stream_["alarms"]);
  const auto alarm =
      std::ranges::find(run_["alarms"], "above", [](const Json& a) { return a["kind"]; });
  ASSERT_NE(alarm, run_["alarms"].end());
  EXPECT_EQ((*alarm)["start"], 601);
  EXPECT_GT((*alarm)["end"], 620);
  EXPECT_EQ((*alarm)["target"], "price");
  EXPECT_EQ((*alarm)["value"], 500);
  EXPECT_GE((*alarm)["severity"], 1);
  EXPECT_EQ(run_rows_[600]["alarm"], "above");
  EXPECT_EQ(run_rows_[500]["alarm"], "");
  EXPECT_EQ(stream_rows_[600]["alarm"], "start");
}

TEST_F(RunAndStream, BoundsAreTheSame) {
  work_.file("d.csv", priced(200));
  compare("d.csv", "--target price,load --learner rls --interval 0.8");
  auto columns = predicted;
  for (const char* what : {"prediction_low_price", "prediction_high_load"}) columns.push_back(what);
  expect_same(columns);
  EXPECT_EQ(run_["coverage"], stream_["coverage"]);
  EXPECT_EQ(run_["nominal_coverage"], 0.8);
  EXPECT_NEAR(run_["coverage"].get<double>(), 0.8, 0.06);
}

TEST_F(RunAndStream, MissingInputsAreRefusedOrHeld) {
  work_.file("d.csv", priced(90, 7));
  compare("d.csv", "--target price,load --learner rls");
  expect_same(predicted);
  expect_same_scores();
  EXPECT_EQ(run_["skipped_rows"], 12);
  EXPECT_FALSE(run_.contains("held"));

  compare("d.csv", "--target price,load --learner rls --missing hold");
  auto columns = predicted;
  columns.push_back("held");
  expect_same(columns);
  expect_same_scores();
  EXPECT_EQ(run_["held"], 12);
  EXPECT_EQ(stream_["held"], 12);
  EXPECT_EQ(run_["skipped_rows"], 0);
}

TEST_F(RunAndStream, WhatWasNeverSeenCannotBeHeld) {
  work_.file("d.csv", "a,b,price,load\n,1,2,3\n,2,3,4\n" + priced(40).substr(15));
  compare("d.csv", "--target price,load --learner rls --missing hold");
  expect_same(predicted);
  EXPECT_EQ(run_["skipped_rows"], 2);
  EXPECT_EQ(run_["held"], 0);
}

TEST_F(RunAndStream, StartFromTheSameFile) {
  work_.file("d.csv", priced(80));
  ASSERT_EQ(work_.kalstream("run d.csv --target price,load --learner alg2 --hidden 3 --save l.kal")
                .exit_code,
            fine);
  compare("d.csv", "--target price,load --start l.kal");
  expect_same(predicted);
  const Ran alias = work_.kalstream("run d.csv --target price,load --resume l.kal --csv -");
  EXPECT_EQ(alias.out, read_text(work_.path("run.csv")));
}

// ---- What run shows

TEST(RunShows, ErrorsBoundsAndTargets) {
  const Workplace w;
  w.file("d.csv", priced(120, 10));
  const Ran one = w.kalstream("run d.csv --learner rls,naive --missing hold");
  ASSERT_EQ(one.exit_code, fine) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("RMSE"), HasSubstr("MAE"), Not(HasSubstr("coverage")),
                             Not(HasSubstr("target  "))));
  EXPECT_EQ(one.err, "12 missing inputs were held at their last values (the first: d.csv:11)\n");
  const Ran two = w.kalstream(
      "run d.csv --learner rls,naive --target price,load --interval 0.9 --json r.json --seeds 2");
  EXPECT_THAT(two.out, AllOf(HasSubstr("intervals for 90 %"), HasSubstr("coverage"),
                             HasSubstr("median width"), HasSubstr("price"), HasSubstr("load")));
  const Json j = Json::parse(read_text(w.path("r.json")));
  for (const Json& result : {j["summary"][1], j["runs"][3]}) {
    EXPECT_EQ(result["targets"][1]["name"], "load");
    for (const char* key : {"coverage", "width_mean", "width_median"}) {
      EXPECT_GT(result[key], 0) << key;
      EXPECT_GT(result["targets"][0][key], 0) << key;
    }
  }
  EXPECT_GT(j["summary"][0]["rmse_mean"], j["summary"][0]["mae_mean"]);
}

TEST(RunShows, ForecastsInTheCsv) {
  const Workplace w;
  w.file("d.csv", priced(60));
  const std::string arguments =
      "run d.csv --learner rls --target load --horizon 3 --future a,b,price ";
  const auto rows = fields_of(w.kalstream(arguments + "--interval 0.9 --csv -").out);
  EXPECT_TRUE(rows[20].contains("forecast_3_high"));
  const double low = std::stod(rows[40].at("forecast_2_low"));
  const double high = std::stod(rows[40].at("forecast_2_high"));
  EXPECT_LT(low, std::stod(rows[40].at("forecast_2")));
  EXPECT_GT(high, std::stod(rows[40].at("forecast_2")));
  EXPECT_NE(rows[57].at("forecast_3"),
            "");  // the file ends before: inputs are held, and it is said
  EXPECT_THAT(w.kalstream(arguments).err, HasSubstr("are not known for all of the horizon"));
  const Ran held = w.kalstream("run d.csv --learner rls --target load --horizon 3 --csv -");
  EXPECT_NE(fields_of(held.out)[57].at("forecast_3"), "");
  EXPECT_THAT(held.err, HasSubstr("forecasts hold \"a\", \"b\", \"price\" at their last values"));
  const Ran far = w.kalstream("run d.csv --csv - --horizon 1001");
  EXPECT_EQ(far.exit_code, usage);
  EXPECT_THAT(far.err, HasSubstr("from 1 to 1000"));
}

TEST(RunShows, PredictionsAsAPicture) {
  const Workplace w;
  w.file("d.csv", priced(120));
  const Ran ran = w.kalstream(
      "run d.csv --learner rls,naive --target price,load --interval 0.9 --plot-predictions p.svg "
      "--plot-rows 50");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(
      read_text(w.path("p.svg")),
      AllOf(HasSubstr(">target</text>"), HasSubstr(">naive</text>"), HasSubstr(">price</text>"),
            HasSubstr(">row</text>"), HasSubstr(" band\""), HasSubstr("90 % of the targets"),
            HasSubstr(">80</text>"), Not(HasSubstr(">60</text>"))));
}

TEST(RunShows, PicturesAreSvg) {
  const Workplace w;
  w.file("d.csv", priced(40));
  for (const char* option : {"run d.csv --plot", "run d.csv --plot-predictions",
                             "run d.csv --plot-weights", "search d.csv --plot", "demo --out"}) {
    const Ran ran = w.kalstream(std::string(option) + " some/x.PNG");
    EXPECT_EQ(ran.exit_code, usage) << option;
    EXPECT_THAT(ran.err, HasSubstr("writes SVG; name it some/x.svg")) << option;
  }
}

// ---- Scaling

TEST(Scaling, IsTheDefaultButNotOfPresets) {
  const Workplace w;
  w.file("d.csv", priced(100));
  const auto nse = [&](const std::string& arguments) {
    const Ran ran =
        w.kalstream("run d.csv --target load --hidden 3 --learner ekf --json - " + arguments);
    EXPECT_EQ(ran.exit_code, fine) << ran.err;
    return ran.exit_code == fine ? Json::parse(ran.out)["runs"][0]["nse"].get<double>() : 0;
  };
  EXPECT_EQ(nse(""), nse("--scale"));
  EXPECT_NE(nse(""), nse("--unscaled"));
  EXPECT_EQ(nse("--preset authors"), nse("--preset authors --unscaled"));
  EXPECT_NE(nse("--preset authors"), nse("--preset authors --scale"));
  EXPECT_EQ(w.kalstream("run d.csv --scale --unscaled").exit_code, usage);
  const Ran remark = w.kalstream("run d.csv --learner rls --unscaled");
  EXPECT_THAT(remark.err, HasSubstr("--unscaled changes nothing: rls takes raw data"));
}

TEST(Scaling, SearchSaysHowToRunTheSame) {
  const Workplace w;
  w.file("d.csv", priced(60));
  const std::string search =
      "search d.csv --target load --learner sgd --hidden 2 --seeds 1 --grid learning_rate=0.1 ";
  EXPECT_THAT(w.kalstream(search).out, HasSubstr("run d.csv --learner sgd --set"));
  EXPECT_THAT(w.kalstream(search + "--unscaled").out,
              HasSubstr("run d.csv --learner sgd --unscaled --set"));
  EXPECT_THAT(w.kalstream(search + "--preset authors").out,
              HasSubstr("run d.csv --learner sgd --preset authors --set"));
  EXPECT_THAT(w.kalstream(search + "--preset authors --scale").out,
              HasSubstr("run d.csv --learner sgd --preset authors --scale --set"));
}

// ---- Names

TEST(Names, AFileNeedsNoOption) {
  const Workplace w;
  w.file("d.csv", priced(60));
  const auto out = [&](const std::string& arguments) {
    const Ran ran = w.kalstream(arguments);
    EXPECT_EQ(ran.exit_code, fine) << arguments << ran.err;
    return ran.out;
  };
  const std::string run = out("run --data d.csv --learner rls --target price --csv -");
  EXPECT_EQ(out("run d.csv --learner rls --target price --csv -"), run);
  EXPECT_EQ(out("run --learner rls --target price d.csv --csv -"), run);
  EXPECT_EQ(out("run --csv - --target price --set lags=0 --learner rls d.csv"), run);
  EXPECT_EQ(out("inspect d.csv"), out("inspect --data d.csv"));
  EXPECT_EQ(out("inspect gen:sine --learner rls"), out("inspect --data gen:sine --learner rls"));
  out("search d.csv --learner rls --grid lags=0,1 --seeds 1");
  EXPECT_EQ(w.kalstream("run d.csv other.csv").exit_code, usage);
  EXPECT_EQ(w.kalstream("run d.csv --data d.csv").exit_code, usage);
}

TEST(Names, WhatMayHaveBeenMeant) {
  const Workplace w;
  const auto expect = [&](const std::string& arguments, const std::string& text) {
    const Ran ran = w.kalstream(arguments);
    EXPECT_EQ(ran.exit_code, usage) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(text)) << arguments;
  };
  expect("rnu my.csv", "did you mean 'run'?");
  expect("run my.csv --horizn 3", "run has no option --horizn; did you mean '--horizon'?");
  expect("run --horizn=3", "did you mean '--horizon'?");  // rather than that FILE is missing
  expect("stream --cehckpoint s.kal", "did you mean '--checkpoint'?");
  expect("search my.csv --gird a=1", "did you mean '--grid'?");
  expect("inspect --lerner ekf", "did you mean '--learner'?");
  expect("top --onse", "did you mean '--once'?");
  expect("generate sine --row 3", "did you mean '--rows'?");
  expect("demo --setps 3", "did you mean '--steps'?");
  expect("bench --hiden 3", "did you mean '--hidden'?");
  expect("reproduce all --quik", "did you mean '--quick'?");
  expect("--verson", "did you mean '--version'?");
  expect("run my.csv --xylophone", "run has no option --xylophone ('kalstream run --help'");
}

}  // namespace
}  // namespace kalstream::test
