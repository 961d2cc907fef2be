// The command line: what users type, what they see, and every exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <matio.h>
#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// y = tanh of a mix of two inputs; `rows` of it as text in the given notation.
std::string samples(int rows, const std::string& separator, const std::string& open = "",
                    const std::string& close = "") {
  std::ostringstream text;
  text.precision(17);
  unsigned state = 12345;
  const auto uniform = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / (1 << 23) - 1;
  };
  for (int t = 0; t < rows; ++t) {
    const double a = uniform();
    const double b = uniform();
    text << open << a << separator << b << separator << 0.5 * a - 0.3 * b * a << close << "\n";
  }
  return text.str();
}

Json run_json(const Workplace& w, const std::string& arguments) {
  const Ran ran = w.kalstream("run " + arguments + " --json -");
  EXPECT_EQ(ran.exit_code, fine) << ran.err;
  return ran.exit_code == fine ? Json::parse(ran.out) : Json();
}

// ---- Help and version

TEST(CommandLine, HelpTeachesByExample) {
  const Workplace w;
  const Ran ran = w.kalstream("--help");
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Examples:"), HasSubstr("kalstream run my.csv"),
                             HasSubstr("Exit codes")));
  for (const char* command : {"run", "demo", "generate", "inspect", "search", "reproduce", "bench"})
    EXPECT_EQ(w.kalstream(std::string(command) + " --help").exit_code, fine) << command;
}

TEST(CommandLine, Version) {
  const Workplace w;
  const Ran ran = w.kalstream("--version");
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_THAT(ran.out, ::testing::StartsWith("kalstream " KALSTREAM_VERSION "\ncommit "));
  for (const char* line : {"\ncompiler ", "\nkernels "}) EXPECT_THAT(ran.out, HasSubstr(line));
}

// ---- run

TEST(Run, TableNamesEveryLearner) {
  const Workplace w;
  w.file("d.csv", samples(120, ","));
  const Ran ran = w.kalstream(
      "run --data d.csv --hidden 3 --learner sgd,rmsprop,adam,ekf,dekf,iekf,pekf,alg1,alg2 --seeds "
      "2");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  for (const char* name : {"sgd", "rmsprop", "adam", "ekf", "dekf", "iekf", "pekf", "alg1", "alg2"})
    EXPECT_THAT(ran.out, HasSubstr(name));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("NSE mean"), HasSubstr("5–95 %"), HasSubstr("µs/step")));
  EXPECT_EQ(ran.err, "") << "no progress bar off a terminal";
}

// A loss changes what is learnt, whoever is asked for it: an option, or a setting.
TEST(Run, LearnsByALoss) {
  const Workplace w;
  w.file("d.csv", samples(150, ","));
  const auto nse = [&](const std::string& options) {
    const Json j = run_json(w, "--data d.csv --hidden 3 --learner ekf " + options);
    return j["summary"][0]["nse_mean"].get<double>();
  };
  EXPECT_EQ(nse(""), nse("--loss squared"));
  EXPECT_NE(nse(""), nse("--loss huber"));
  EXPECT_EQ(nse("--loss quantile --set quantile=0.9"), nse("--set loss=quantile quantile=0.9"));
  const Ran ran = w.kalstream("run --data d.csv --learner auto --loss poisson");
  EXPECT_EQ(ran.exit_code, usage);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--loss poisson"), HasSubstr("auto"), HasSubstr("alg1")));
}

TEST(Run, JsonHasTheDocumentedShape) {
  const Workplace w;
  w.file("d.csv", samples(150, ","));
  const Json j =
      run_json(w, "--data d.csv --hidden 3 --learner alg2,adam --seeds 4..6 --horizon 5");
  ASSERT_EQ(j["summary"].size(), 2U);
  const Json& s = j["summary"][0];
  for (const char* key :
       {"learner", "seeds", "steps", "nse_mean", "nse_median", "nse_p05", "nse_p95", "knse_mean",
        "update_fraction", "us_per_step", "sustained_median"})
    EXPECT_TRUE(s.contains(key)) << key;
  EXPECT_EQ(s["learner"], "alg2");
  EXPECT_EQ(s["seeds"], 3);
  EXPECT_EQ(s["steps"], 150);
  ASSERT_EQ(j["runs"].size(), 6U);
  EXPECT_EQ(j["runs"][1]["seed"], 5);
  for (const char* key : {"learner", "seed", "nse", "knse", "seconds", "sustained_at"})
    EXPECT_TRUE(j["runs"][0].contains(key)) << key;
  EXPECT_TRUE(j.contains("data"));
  EXPECT_TRUE(s["sustained_median"].is_null());
  double mean = 0;
  for (int k = 0; k < 3; ++k) mean += j["runs"][k]["nse"].get<double>() / 3;
  EXPECT_DOUBLE_EQ(s["nse_mean"].get<double>(), mean);
}

TEST(Run, ThreadsDoNotChangeResults) {
  const Workplace w;
  const std::string arguments =
      "--data gen:narma10 --steps 200 --hidden 4 --learner alg2,ekf,adam --seeds 4 --horizon 3 ";
  Json one = run_json(w, arguments + "--jobs 1");
  Json four = run_json(w, arguments + "--jobs 4");
  for (Json* j : {&one, &four})
    for (Json& run : (*j)["runs"]) run.erase("seconds");
  EXPECT_EQ(one["runs"], four["runs"]);
}

TEST(Run, JsonAndCsvAndPlotFiles) {
  const Workplace w;
  w.file("d.csv", "a,b,out\n" + samples(60, ","));
  const Ran ran = w.kalstream(
      "run --data d.csv --hidden 2 --learner adam --json r.json --csv p.csv --plot c.svg");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_EQ(Json::parse(read_text(w.path("r.json")))["summary"][0]["steps"], 60);
  const std::string csv = read_text(w.path("p.csv"));
  EXPECT_TRUE(csv.starts_with("learner,seed,step,target,prediction\nadam,1,1,")) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 61);
  EXPECT_THAT(read_text(w.path("c.svg")), AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
  EXPECT_EQ(w.files(), 4U) << "no temporary file stays behind";
}

TEST(Run, QuietSaysNothing) {
  const Workplace w;
  w.file("d.csv", samples(40, ","));
  const Ran ran = w.kalstream("run --data d.csv --hidden 2 --learner adam --quiet");
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST(Run, StepsLimitTheRows) {
  const Workplace w;
  w.file("d.csv", samples(100, ","));
  EXPECT_EQ(run_json(w, "--data d.csv --hidden 2 --steps 30")["summary"][0]["steps"], 30);
  EXPECT_EQ(run_json(w, "--data gen:sine --hidden 2 --steps 30")["summary"][0]["steps"], 30);
}

TEST(Run, StopsWhenSustained) {
  const Workplace w;
  w.file("d.csv", [] {  // the target has the sign of the input: learnt at once
    std::string text;
    for (int t = 0; t < 900; ++t) text += t % 2 == 0 ? "1,0.5\n" : "-1,-0.5\n";
    return text;
  }());
  const std::string arguments = "--data d.csv --hidden 2 --learner ekf";
  const Json all = run_json(w, arguments);
  const Json stopped = run_json(w, arguments + " --stop-when-sustained");
  const auto at = stopped["runs"][0]["sustained_at"].get<std::size_t>();
  EXPECT_EQ(all["runs"][0]["sustained_at"], at);
  EXPECT_EQ(all["runs"][0]["steps"], 900);
  EXPECT_EQ(stopped["runs"][0]["steps"], at);
  EXPECT_GE(at, 500U);
  EXPECT_LT(at, 600U);
}

TEST(Run, StopsWhenZerosAndOnesAreSustained) {
  const Workplace w;
  w.file("d.csv", [] {
    std::string text;
    for (int t = 0; t < 900; ++t)  // predictions of 0 are of either sign
      text += std::to_string((t % 2 == 0 ? 1 : -1) + 0.3 * std::sin(t)) +
              (t % 2 == 0 ? ",1\n" : ",0\n");
    return text;
  }());
  const Json run = run_json(w, "--data d.csv --learner rls --stop-when-sustained")["runs"][0];
  EXPECT_EQ(run["steps"], run["sustained_at"]);
  EXPECT_LT(run["steps"].get<int>(), 600);

  w.file("many.csv", "1,1\n2,2\n3,3\n");
  const Ran many = w.kalstream("run --data many.csv --stop-when-sustained");
  EXPECT_EQ(many.exit_code, bad_data);
  EXPECT_THAT(many.err, HasSubstr("all of one sign"));
}

TEST(Run, SettingsReachOneLearnerOrAll) {
  const Workplace w;
  w.file("d.csv", samples(80, ","));
  const std::string arguments = "--data d.csv --hidden 3 --learner alg2,ekf ";
  const auto nse = [&](const std::string& more) {
    const Json j = run_json(w, arguments + more);
    return std::pair(j["runs"][0]["nse"].get<double>(), j["runs"][1]["nse"].get<double>());
  };
  const auto base = nse("");
  const auto one = nse("--set alg2.initial_covariance=0.01");
  EXPECT_NE(one.first, base.first);
  EXPECT_EQ(one.second, base.second);
  const auto all = nse("--set process_noise=1e-3..1e-6 --set window=2");
  EXPECT_EQ(all, nse("--set process_noise=1e-3..1e-6 window=2"));
  EXPECT_NE(all.first, base.first);
  EXPECT_NE(all.second, base.second);
}

TEST(Run, PresetsDiffer) {
  const Workplace w;
  const std::string arguments = "--data gen:kin-like --steps 200 --learner alg2 --hidden 4 ";
  const auto nse = [&](const std::string& more) {
    return run_json(w, arguments + more)["runs"][0]["nse"].get<double>();
  };
  const double paper = nse("--preset paper");
  const double authors = nse("--preset authors");
  EXPECT_NE(paper, authors);
  EXPECT_EQ(authors, nse("--preset authors:kin8nm"));
  EXPECT_NE(authors, nse("--preset authors:addition"));
}

TEST(Run, SeveralTargetsByNameAndNumber) {
  const Workplace w;
  w.file("d.csv", "a,b,c\n" + samples(80, ","));
  const Json by_name = run_json(w, "--data d.csv --target c,b --hidden 2");
  const Json by_number = run_json(w, "--data d.csv --target 3,2 --hidden 2");
  EXPECT_EQ(by_name["data"]["targets"], Json({"c", "b"}));
  EXPECT_EQ(by_name["runs"][0]["nse"], by_number["runs"][0]["nse"]);
}

TEST(Run, RawDataWorkUnlessUnscaled) {
  const Workplace w;
  std::string raw;
  for (int t = 0; t < 400; ++t) {
    const double x = 1000 + 300 * std::sin(0.3 * t);
    raw += std::to_string(x) + "," + std::to_string(1e5 + 40 * x) + "\n";
  }
  w.file("raw.csv", raw);
  const Ran unscaled = w.kalstream("run --data raw.csv --learner auto,alg2 --hidden 4 --unscaled");
  EXPECT_EQ(unscaled.exit_code, bad_data);
  EXPECT_THAT(unscaled.err, AllOf(HasSubstr("alg2"), HasSubstr("--unscaled"), HasSubstr("auto")));
  const Json j = run_json(w, "--data raw.csv --learner alg2 --hidden 4");
  EXPECT_LT(j["runs"][0]["nse"].get<double>(), 1);
}

TEST(Run, ReadsStandardInputAndWritesStandardOutput) {
  const Workplace w;
  w.file("d.jsonl",
         "{\"a\":{\"b\":1.5},\"y\":2}\n{\"a\":{\"b\":2.5},\"y\":3}\n{\"a\":{\"b\":3},\"y\":5}\n");
  const std::string command = "cd '" + w.path("").string() +
                              "' && '" KALSTREAM_PROGRAM
                              "' run - --learner rls --json - --quiet <d.jsonl >out.json";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(Json::parse(read_text(w.path("out.json")))["runs"].size(), 1U);
}

TEST(Run, AConstantInputIsAddedUnlessOneExists) {
  const Workplace w;
  const std::string plain = samples(80, ",");
  w.file("plain.csv", plain);
  std::string with_ones;
  std::istringstream lines(plain);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    columns = static_cast<std::size_t>(std::ranges::count(line, ',')) + 1;
    with_ones += line.substr(0, line.rfind(',')) + ",1" + line.substr(line.rfind(',')) + "\n";
  }
  std::string header;
  for (std::size_t k = 1; k < columns; ++k) header += "x" + std::to_string(k) + ",";
  w.file("ones.csv", header + "bias,y\n" + with_ones);
  EXPECT_EQ(run_json(w, "--data plain.csv --hidden 3")["runs"][0]["nse"],
            run_json(w, "--data ones.csv --hidden 3")["runs"][0]["nse"]);
}

// ---- auto

std::string raw_samples(int rows) {
  std::string raw;
  for (int t = 0; t < rows; ++t) {
    const double x = 1000 + 300 * std::sin(0.3 * t);
    raw += std::to_string(x) + "," + std::to_string(40 * x - 3e4) + "\n";
  }
  return raw;
}

TEST(Auto, IsTheDefaultAndTakesRawData) {
  const Workplace w;
  w.file("raw.csv", raw_samples(300));
  const Json j = run_json(w, "--data raw.csv --horizon 3 --warm-up 5 --csv p.csv");
  EXPECT_EQ(j["summary"][0]["learner"], "auto");
  EXPECT_LT(j["runs"][0]["nse"].get<double>(), 0.2);
  EXPECT_LT(j["runs"][0]["knse"].get<double>(), 0.5);
  EXPECT_EQ(j["runs"][0]["scored"], 295);
  EXPECT_TRUE(read_text(w.path("p.csv")).starts_with("learner,seed,step"));
  EXPECT_EQ(w.kalstream("run --data raw.csv").err, "") << "nothing to remark";
  w.file("series.csv", "1\n3\n2\n4\n3\n5\n4\n6\n5\n7\n");
  EXPECT_EQ(w.kalstream("run --data series.csv").exit_code, fine);
}

TEST(Auto, WhatChangesNothingIsRemarked) {
  const Workplace w;
  w.file("raw.csv", raw_samples(60));
  const Ran scaled = w.kalstream("run --data raw.csv --learner auto,ar --scale");
  EXPECT_EQ(scaled.exit_code, fine);
  EXPECT_THAT(scaled.err, HasSubstr("--scale changes nothing: auto, ar"));
  EXPECT_EQ(w.kalstream("run --data raw.csv --learner auto,adam --scale").err, "");
  const Ran preset = w.kalstream("run --data raw.csv --preset authors");
  EXPECT_EQ(preset.exit_code, fine);
  EXPECT_THAT(preset.err, AllOf(HasSubstr("--preset"), HasSubstr("nothing is published for it")));
  EXPECT_EQ(run_json(w, "--data raw.csv --preset authors --warm-up 0")["runs"][0]["nse"],
            run_json(w, "--data raw.csv")["runs"][0]["nse"]);
}

TEST(Auto, JsonNamesExpertsAndSettings) {
  const Workplace w;
  w.file("d.csv", samples(120, ","));
  const Json j = run_json(w, "--data d.csv --learner auto,auto-max,alg2,ekf --hidden 4 --seeds 2");
  for (int k = 0; k < 6; ++k) {  // those of ekf are last
    double sum = 0;
    for (const Json& expert : j["runs"][k]["experts"]) sum += expert["weight"].get<double>();
    EXPECT_NEAR(sum, 1, 1e-9) << k;
  }
  EXPECT_EQ(j["runs"][0]["experts"].back()["name"], "smoothing-panel");
  EXPECT_EQ(j["runs"][2]["experts"].size(), j["runs"][0]["experts"].size() + 2);
  EXPECT_EQ(j["runs"][4]["experts"][0]["name"], "bound 1");
  EXPECT_FALSE(j["runs"][6].contains("experts"));
  EXPECT_EQ(
      j["summary"][0]["settings"],
      Json(
          {{"experts", "0"}, {"lags", "24"}, {"threads", "1"}, {"hidden", "4"}, {"window", "10"}}));
  EXPECT_EQ(j["summary"][3]["settings"]["measurement_noise"], "3");
}

TEST(Auto, FewerExperts) {
  const Workplace w;
  w.file("d.csv", samples(120, ","));
  const auto experts = [&](const std::string& more) {
    return run_json(w, "--data d.csv --hidden 4 " + more)["runs"][0]["experts"].size();
  };
  EXPECT_EQ(experts("--experts 3") + 1, experts("--experts 4"));
  EXPECT_EQ(experts("--experts 999"), experts(""));
  EXPECT_EQ(run_json(w, "--data d.csv --experts 3")["runs"][0]["nse"],
            run_json(w, "--data d.csv --set experts=3")["runs"][0]["nse"]);
  EXPECT_EQ(w.kalstream("run --data d.csv --hidden 4 --learner ekf,auto --experts 2").exit_code,
            fine);
}

TEST(Auto, BudgetChoosesTheExperts) {
  const Workplace w;
  w.file("d.csv", samples(120, ","));
  const Ran little = w.kalstream("run --data d.csv --budget-us 1 --json little.json");
  ASSERT_EQ(little.exit_code, fine) << little.err;
  EXPECT_THAT(little.err,
              AllOf(HasSubstr("auto: even --experts 1 takes"), HasSubstr("more than 1\n")));
  const Json one = Json::parse(read_text(w.path("little.json")));
  EXPECT_EQ(one["summary"][0]["settings"]["experts"], "1");
  EXPECT_EQ(one["runs"][0]["nse"], run_json(w, "--data d.csv --experts 1")["runs"][0]["nse"]);

  const Ran much = w.kalstream("run --data d.csv --budget-us 1e9");
  ASSERT_EQ(much.exit_code, fine) << much.err;
  EXPECT_THAT(much.err, AllOf(HasSubstr("auto: --experts "), HasSubstr("per sample")));
  EXPECT_EQ(w.kalstream("run --data d.csv --budget-us 1 --quiet").err, "");
}

TEST(Auto, WeightsAreDrawn) {
  const Workplace w;
  w.file("d.csv", samples(150, ","));
  const Ran ran = w.kalstream(
      "run --data d.csv --hidden 4 --learner ekf,alg2,auto --seeds 2 --plot-weights w.svg");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(read_text(w.path("w.svg")),
              AllOf(HasSubstr(">alg2</text>"), HasSubstr(">auto</text>"), HasSubstr(">bound 0.5<"),
                    HasSubstr(" others<"), Not(HasSubstr(">ekf</text>"))));
  EXPECT_EQ(w.kalstream("run --data d.csv --plot-weights d.csv").exit_code, usage);
}

TEST(Auto, ExpertsAreExplained) {
  const Workplace w;
  w.file("d.csv", "load,sun,price\n1,2,20\n2,1,30\n3,1,25\n");
  const Ran ran = w.kalstream("inspect --data d.csv --learner auto");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("past targets"), HasSubstr("replays"), HasSubstr("trees"),
                             HasSubstr("recurrent"), HasSubstr("feed-forward"), HasSubstr("linear"),
                             HasSubstr("naive"), HasSubstr("auto.experts")));
  EXPECT_THAT(ran.out, HasSubstr("fine for auto"));
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LT(lines(w.kalstream("inspect --learner auto --set experts=2").out),
            lines(w.kalstream("inspect --learner auto").out));
}

TEST(Auto, SearchAndBench) {
  const Workplace w;
  w.file("raw.csv", raw_samples(100));
  const Ran best = w.kalstream("search --data raw.csv --learner auto --grid experts=1,2 --seeds 1");
  ASSERT_EQ(best.exit_code, fine) << best.err;
  EXPECT_THAT(best.out, HasSubstr("kalstream run raw.csv --learner auto --set experts="));
  const Ran none = w.kalstream("search --data raw.csv --learner auto");
  EXPECT_EQ(none.exit_code, usage);
  EXPECT_THAT(none.err, AllOf(HasSubstr("--grid"), HasSubstr("inspect --learner auto")));
  EXPECT_EQ(w.kalstream("bench --learner auto,auto-max --hidden 4 --seconds 0.3").exit_code, fine);
}

// ---- Time series: no inputs but past targets

// d_t = 1.6 d_{t−1} − 0.8 d_{t−2} + noise, within ±1.
std::vector<double> autoregression(int rows) {
  std::vector<double> d;
  unsigned state = 4321;
  double now = 0;
  double before = 0;
  for (int t = 0; t < rows; ++t) {
    state = state * 1664525u + 1013904223u;
    const double noise = 0.1 * (static_cast<double>(state >> 8) / (1 << 23) - 1);
    const double next = 1.6 * now - 0.8 * before + noise;
    before = std::exchange(now, next);
    d.push_back(now);
  }
  return d;
}

std::string column(const std::vector<double>& values, const std::string& name = "d") {
  std::ostringstream text;
  text.precision(17);
  text << name << "\n";
  for (const double v : values) text << v << "\n";
  return text.str();
}

TEST(Series, LagsAreColumnsOfPastTargets) {
  const Workplace w;
  const auto d = autoregression(200);
  w.file("series.csv", column(d));
  std::ostringstream columns;
  columns.precision(17);
  columns << "lag1,lag2,d\n";
  for (std::size_t t = 0; t < d.size(); ++t)
    columns << (t == 0 ? 0 : d[t - 1]) << "," << (t == 0 ? 0 : d[t < 2 ? 0 : t - 2]) << "," << d[t]
            << "\n";
  w.file("columns.csv", columns.str());
  const std::string rest = " --hidden 3 --learner alg2,ekf --seeds 2 --unscaled";
  const Json lagged = run_json(w, "--data series.csv --lags 2" + rest);
  const Json by_hand = run_json(w, "--data columns.csv" + rest);
  EXPECT_EQ(lagged["data"]["inputs"], Json::array());
  for (int k = 0; k < 4; ++k) EXPECT_EQ(lagged["runs"][k]["nse"], by_hand["runs"][k]["nse"]) << k;
  // The same without a file of its own.
  const Json chosen = run_json(w, "--data columns.csv --inputs none --lags 2" + rest);
  EXPECT_EQ(chosen["runs"][0]["nse"], lagged["runs"][0]["nse"]);
  const Json one = run_json(w, "--data columns.csv --inputs lag1" + rest);
  EXPECT_EQ(one["data"]["inputs"], Json({"lag1"}));
}

TEST(Series, BaselinesAndForecasts) {
  const Workplace w;
  auto d = autoregression(2000);
  w.file("series.csv", column(d));
  for (double& v : d) v = 500 * v;
  w.file("raw.csv", column(d));
  const Json j = run_json(
      w, "--data series.csv --lags 4 --horizon 3 --hidden 3 --learner alg2,rls,ar,naive,mean");
  const auto number = [&](int learner, const char* what) {
    return j["summary"][learner][what].get<double>();
  };
  for (const char* what : {"nse_mean", "knse_mean"})
    for (const int learner : {0, 1, 2}) EXPECT_LT(number(learner, what), number(3, what)) << what;
  EXPECT_LT(number(2, "nse_mean"), 0.1);  // the noise has a thirteenth of the variance
  EXPECT_LT(number(2, "knse_mean"), number(4, "knse_mean"));
  EXPECT_NEAR(number(4, "nse_mean"), 1, 0.02);
  // Any units; no lags for those that look back by themselves; a preset changes nothing.
  const Json raw = run_json(w, "--data raw.csv --learner ar,naive,mean --seeds 2");
  EXPECT_LT(raw["summary"][0]["nse_mean"].get<double>(), 0.1);
  EXPECT_EQ(raw["runs"][0]["nse"], raw["runs"][1]["nse"]);
  const std::string steps = "--data raw.csv --learner ar --warm-up 0 --steps 500";
  EXPECT_EQ(run_json(w, steps + " --preset authors")["runs"][0]["nse"],
            run_json(w, steps)["runs"][0]["nse"]);
}

TEST(Series, AutoMaxSaysThatItIsAuto) {
  const Workplace w;
  w.file("series.csv", column(autoregression(60)));
  w.file("inputs.csv", samples(60, ","));
  const std::string remark = "auto-max is the same as auto here";
  EXPECT_THAT(w.kalstream("run --data series.csv --learner auto-max").err, HasSubstr(remark));
  EXPECT_THAT(w.kalstream("inspect --data series.csv --learner auto-max").out, HasSubstr(remark));
  for (const char* silent : {"run --data inputs.csv --learner auto-max --hidden 2",
                             "run --data series.csv --learner auto"})
    EXPECT_THAT(w.kalstream(silent).err, Not(HasSubstr(remark)));
}

TEST(Series, SearchAndInspect) {
  const Workplace w;
  w.file("series.csv", column(autoregression(600)));
  const Ran best = w.kalstream("search --data series.csv --learner ar --grid lags=1,2 --seeds 1");
  ASSERT_EQ(best.exit_code, fine) << best.err;
  EXPECT_THAT(best.out, HasSubstr("--learner ar --set lags=2"));
  const std::string ekf = "search --data series.csv --learner ekf --hidden 2 --seeds 1 ";
  EXPECT_EQ(w.kalstream(ekf + "--grid lags=1,2 --quiet").exit_code, fine);
  const Ran lags = w.kalstream(ekf + "--lags 2 --grid measurement_noise=1,3");
  EXPECT_THAT(lags.out, HasSubstr("--learner ekf --lags 2 --set measurement_noise="));
  EXPECT_EQ(w.kalstream(ekf + "--grid lags=0,2").exit_code, bad_data);
  EXPECT_EQ(w.kalstream("demo --data series.csv").exit_code, bad_data);

  EXPECT_THAT(w.kalstream("inspect --data series.csv").out, HasSubstr("--lags"));
  const Ran learners = w.kalstream("inspect --learner rls,ar,naive,mean");
  EXPECT_EQ(learners.exit_code, fine);
  EXPECT_THAT(learners.out, AllOf(HasSubstr("rls.lags"), HasSubstr("ar.lags"),
                                  HasSubstr("ar: 1 input, 1 output; 9 weights")));
  EXPECT_THAT(learners.out, Not(HasSubstr("window")));
}

// ---- Every reader gives the same stream

TEST(Readers, SameNumbersFromEveryFormat) {
  const Workplace w;
  const std::string csv = samples(60, ",");
  w.file("d.csv", csv);
  w.file("h.csv", "a,b,y\n" + csv);
  w.file("d.tsv", samples(60, "\t"));
  w.file("d.jsonl", samples(60, ",", "[", "]"));
  w.file(
      "d.arff",
      "@relation r\n@attribute a numeric\n@attribute b real\n@attribute y numeric\n@data\n" + csv);
  {
    std::vector<double> inputs;
    std::vector<double> targets;
    std::istringstream fields(csv);
    double v[3];
    char comma = 0;
    while (fields >> v[0] >> comma >> v[1] >> comma >> v[2]) {
      inputs.insert(inputs.end(), {v[0], v[1]});
      targets.push_back(v[2]);
    }
    mat_t* mat = Mat_CreateVer(w.path("d.mat").c_str(), nullptr, MAT_FT_MAT5);
    const auto write = [&](const char* name, std::size_t rows, std::vector<double>& values) {
      std::size_t dims[2] = {rows, values.size() / rows};
      matvar_t* var = Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, values.data(), 0);
      Mat_VarWrite(mat, var, MAT_COMPRESSION_NONE);
      Mat_VarFree(var);
    };
    write("input_set", 2, inputs);
    write("target_set", 1, targets);
    Mat_Close(mat);
  }
  const Json expected = run_json(w, "--data d.csv --hidden 3 --learner ekf")["runs"][0]["nse"];
  for (const char* file : {"h.csv", "d.tsv", "d.jsonl", "d.arff", "d.mat"})
    EXPECT_EQ(
        run_json(w, std::string("--data ") + file + " --hidden 3 --learner ekf")["runs"][0]["nse"],
        expected)
        << file;
}

TEST(Readers, MissingTargetsAndInputsAreCounted) {
  const Workplace w;
  w.file("d.csv", samples(50, ",") + "0.1,0.2,nan\n0.1,,0.3\n0.1,0.2,\n" + samples(20, ","));
  const Ran ran = w.kalstream("run --data d.csv --hidden 2 --learner ekf --json r.json");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("1 rows with a missing"), HasSubstr("d.csv:52"),
                             HasSubstr("2 rows without a target"), HasSubstr("d.csv:51")));
  const Json run = Json::parse(read_text(w.path("r.json")))["runs"][0];
  EXPECT_EQ(run["missing_targets"], 2);
  EXPECT_EQ(run["skipped_rows"], 1);
  EXPECT_EQ(run["scored"], 69);  // the first target is learnt, not scored

  // A skipped row leaves no trace: the same as if it were not in the file.
  w.file("without.csv", samples(50, ",") + "0.1,0.2,nan\n0.1,0.2,\n" + samples(20, ","));
  EXPECT_EQ(run_json(w, "--data without.csv --hidden 2 --learner ekf")["runs"][0]["nse"],
            run["nse"]);
}

// ---- Bad input: a message that names file, line and remedy; nothing written

struct Bad {
  const char* name;
  std::string text;       // of d.csv
  std::string arguments;  // after run --data d.csv
  int code;
  std::vector<std::string> says;
};

class BadInput : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInput, IsExplainedAndLeavesNothing) {
  const Bad& bad = GetParam();
  const Workplace w;
  w.file("d.csv", bad.text);
  const Ran ran =
      w.kalstream("run --data d.csv --json r.json --csv p.csv --plot c.svg " + bad.arguments);
  EXPECT_EQ(ran.exit_code, bad.code) << ran.err;
  for (const std::string& part : bad.says) EXPECT_THAT(ran.err, HasSubstr(part));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(w.files(), 1U) << "only d.csv";
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadInput,
    ::testing::Values(
        Bad{"RaggedRow", "1,2\n3,4,5\n", "", bad_data, {"d.csv:2"}},
        Bad{"Text", "1,2\n3,four\n", "", bad_data, {"d.csv:2", "four", "missing"}},
        Bad{"Infinity", "1,2\n3,inf\n", "", bad_data, {"d.csv:2", "inf"}},
        Bad{"Overflow", "1,2\n3,1e999\n", "", bad_data, {"d.csv:2", "1e999"}},
        Bad{"Empty", "", "", bad_data, {"d.csv"}},
        Bad{"HeaderOnly", "a,b\n", "", bad_data, {"d.csv"}},
        Bad{"MissingColumn", "a,b\n1,2\n", "--target c", bad_data, {"d.csv", "\"c\"", "a", "b"}},
        Bad{"TargetOutOfRange",
            "1,0.5\n2,7\n",
            "--learner alg2 --unscaled",
            bad_data,
            {"d.csv:2", "7", "[-1,1]", "--unscaled", "output=identity"}},
        Bad{"ConstantTarget", "1,0.5\n2,0.5\n", "", bad_data, {"d.csv", "does not vary"}},
        Bad{"NothingToPredictFrom",
            "0.1\n0.2\n",
            "--learner ar,alg1",
            bad_data,
            {"d.csv", "no input columns", "alg1", "--lags 8", "ar, naive"}},
        Bad{"UnknownInput", "a,b\n1,2\n", "--inputs c", bad_data, {"d.csv", "\"c\"", "a", "b"}},
        Bad{"TargetAsInput", "a,b\n1,2\n", "--inputs b --target b", bad_data, {"\"b\"", "target"}},
        Bad{"NoLags", "1,0.1\n2,0.2\n", "--lags 0", usage, {"--lags", "from 1"}},
        Bad{"ArWithoutLags",
            "1,0.1\n2,0.2\n",
            "--learner ar --set lags=0",
            usage,
            {"ar", "lags", "at least 1"}},
        Bad{"UnknownLearner",
            "1,0.1\n2,0.2\n",
            "--learner lstm",
            usage,
            {"lstm", "sgd, rmsprop, adam, ekf"}},
        Bad{"MisspeltLearner",
            "1,0.1\n2,0.2\n",
            "--learner rsl",
            usage,
            {"unknown learner 'rsl'", "did you mean 'rls'?"}},
        Bad{"MisspeltKey",
            "1,0.1\n2,0.2\n",
            "--learner rls --set process_nose=1",
            usage,
            {"unknown key 'process_nose'; did you mean 'process_noise'? Known keys:"}},
        Bad{"MisspeltKeyOfALearner",
            "1,0.1\n2,0.2\n",
            "--learner rls --set rls.proces_noise=1",
            usage,
            {"did you mean 'rls.process_noise'?"}},
        Bad{"LearnerTwice", "1,0.1\n2,0.2\n", "--learner ekf,ekf", usage, {"twice"}},
        Bad{"UnknownKey",
            "1,0.1\n2,0.2\n",
            "--learner alg2 --set alg2.covariance=1",
            usage,
            {"alg2.covariance", "alg2.initial_covariance"}},
        Bad{"KeyOfAbsentLearner",
            "1,0.1\n2,0.2\n",
            "--set ekf.process_noise=1",
            usage,
            {"ekf", "not among"}},
        Bad{"NotANumber",
            "1,0.1\n2,0.2\n",
            "--learner alg2 --set alg2.initial_covariance=big",
            usage,
            {"big", "number"}},
        Bad{"NotASchedule",
            "1,0.1\n2,0.2\n",
            "--learner alg2 --set process_noise=1..",
            usage,
            {"A..B"}},
        Bad{"NoValue", "1,0.1\n2,0.2\n", "--set window", usage, {"key=value"}},
        Bad{"WindowZero", "1,0.1\n2,0.2\n", "--window 0", usage, {"--window", "from 1"}},
        Bad{"NegativeJobs", "1,0.1\n2,0.2\n", "--jobs -1", usage, {"--jobs"}},
        Bad{"MoreStepsThanNumbers",
            "1,0.1\n2,0.2\n",
            "--steps 18446744073709551615",
            usage,
            {"--steps"}},
        Bad{"TextAsTarget", "1.5,0.2x\n2,0.2\n", "--target 2", bad_data, {"d.csv:1", "0.2x"}},
        Bad{"NoUsableRow", "1,nan\n2,\n", "", bad_data, {"d.csv", "no row has"}},
        Bad{"PriorWithoutBounds",
            "1,0.1\n2,0.2\n",
            "--learner alg2 --set alg2.prior_weights=1,2",
            usage,
            {"alg2", "prior_weights", "error_bounds"}},
        Bad{"TooLarge",
            "1,0.1\n2,0.2\n",
            "--learner ekf --hidden 20000",
            usage,
            {"ekf", "GiB", "--hidden"}},
        Bad{"WindowZeroBySet", "1,0.1\n2,0.2\n", "--set window=0", usage, {"window", "at least 1"}},
        Bad{"NegativeCovariance",
            "1,0.1\n2,0.2\n",
            "--learner ekf --set ekf.initial_covariance=-1",
            usage,
            {"ekf", "initial_covariance", "positive"}},
        Bad{"UnknownPreset", "1,0.1\n2,0.2\n", "--preset best", usage, {"best", "authors"}},
        Bad{"UnknownStreamOfPreset",
            "1,0.1\n2,0.2\n",
            "--preset paper:kin9",
            usage,
            {"kin9", "kin8nm"}},
        Bad{"EndlessSeeds",
            "1,0.1\n2,0.2\n",
            "--seeds 1..18446744073709551615",
            usage,
            {"--seeds"}},
        Bad{"BadSeeds", "1,0.1\n2,0.2\n", "--seeds 5..2", usage, {"--seeds"}},
        Bad{"ExpertsOfOthers",
            "1,0.1\n2,0.2\n",
            "--learner ekf,alg2 --experts 3",
            usage,
            {"--experts", "auto and auto-max"}},
        Bad{"BudgetOfOthers",
            "1,0.1\n2,0.2\n",
            "--learner ekf --budget-us 30",
            usage,
            {"--budget-us", "auto and auto-max"}},
        Bad{"ExpertsAndBudget",
            "1,0.1\n2,0.2\n",
            "--experts 3 --budget-us 30",
            usage,
            {"--experts", "--budget-us"}},
        Bad{"NoExperts", "1,0.1\n2,0.2\n", "--experts 0", usage, {"--experts", "from 1"}},
        Bad{"NoBudget", "1,0.1\n2,0.2\n", "--budget-us 0", usage, {"--budget-us"}},
        Bad{"BudgetIsNoNumber", "1,0.1\n2,0.2\n", "--budget-us fast", usage, {"--budget-us"}},
        Bad{"WeightsOfOthers",
            "1,0.1\n2,0.2\n",
            "--learner ekf,ar --plot-weights w.svg",
            usage,
            {"--plot-weights", "auto, auto-max, alg2"}},
        Bad{"TooManyLags", "1,0.1\n2,0.2\n", "--lags 1001", usage, {"auto", "lags", "1000"}},
        Bad{"UnknownOption",
            "1,0.1\n2,0.2\n",
            "--lerner ekf",
            usage,
            {"--lerner", "did you mean '--learner'"}}),
    [](const auto& suite) { return suite.param.name; });

TEST(CommandLine, OtherUsageErrors) {
  const Workplace w;
  EXPECT_EQ(w.kalstream("").exit_code, usage);
  const Ran unknown = w.kalstream("fly");
  EXPECT_EQ(unknown.exit_code, usage);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("fly"), HasSubstr("inspect")));
  EXPECT_EQ(w.kalstream("run").exit_code, usage);
  EXPECT_EQ(w.kalstream("run --data nowhere.csv").exit_code, bad_data);
  const Ran generator = w.kalstream("run --data gen:nothing");
  EXPECT_EQ(generator.exit_code, usage);
  EXPECT_THAT(generator.err, HasSubstr("narma10"));
  EXPECT_EQ(w.kalstream("run --data gen:addition?m=3").exit_code, usage);
  EXPECT_EQ(w.kalstream("inspect").exit_code, usage);
}

TEST(CommandLine, AFileThatCannotBeWrittenIsAFailureAtOnce) {
  const Workplace w;
  w.file("d.csv", samples(20, ","));
  const Ran ran =
      w.kalstream("run --data d.csv --hidden 2 --csv p.csv --json no/such/folder/r.json");
  EXPECT_EQ(ran.exit_code, failure);
  EXPECT_THAT(ran.err, HasSubstr("no/such/folder/r.json"));
  EXPECT_EQ(w.files(), 1U);
}

TEST(CommandLine, OutputNeverReplacesDataOrOtherOutput) {
  const Workplace w;
  w.file("d.csv", samples(20, ","));
  const std::string before = read_text(w.path("d.csv"));
  EXPECT_EQ(w.kalstream("run --data d.csv --hidden 2 --csv ./d.csv").exit_code, usage);
  EXPECT_EQ(w.kalstream("run --data d.csv --hidden 2 --csv a --json a").exit_code, usage);
  EXPECT_EQ(read_text(w.path("d.csv")), before);
}

TEST(CommandLine, OutputFollowsLinksAndWritesIntoPipes) {
  const Workplace w;
  w.file("d.csv", samples(20, ","));
  w.file("real.json", "old");
  std::filesystem::create_symlink("real.json", w.path("link.json"));
  ASSERT_EQ(w.kalstream("run --data d.csv --hidden 2 --quiet --json link.json").exit_code, fine);
  EXPECT_TRUE(std::filesystem::is_symlink(w.path("link.json")));
  EXPECT_THAT(read_text(w.path("real.json")), HasSubstr("summary"));

  ASSERT_EQ(mkfifo(w.path("pipe").c_str(), 0600), 0);
  const std::string command = "cd '" + w.path("").string() +
                              "' && { cat pipe > read & '" KALSTREAM_PROGRAM
                              "' run --data d.csv --hidden 2 --quiet --json pipe; "
                              "code=$?; wait; exit $code; }";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(read_text(w.path("read")), HasSubstr("summary"));
  EXPECT_TRUE(std::filesystem::is_fifo(w.path("pipe")));
}

TEST(CommandLine, AFullStandardOutputIsAFailure) {
  const Workplace w;
  w.file("d.csv", samples(20, ","));
  const std::string command = "cd '" + w.path("").string() +
                              "' && '" KALSTREAM_PROGRAM
                              "' run --data d.csv --hidden 2 > /dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), failure);
}

TEST(Run, ReadsStandardInput) {
  const Workplace w;
  w.file("d.csv", samples(60, ","));
  const std::string command = "cd '" + w.path("").string() +
                              "' && '" KALSTREAM_PROGRAM
                              "' run --data - --hidden 2 --json piped.json --quiet < d.csv";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Json piped = Json::parse(read_text(w.path("piped.json")));
  EXPECT_EQ(piped["runs"][0]["nse"], run_json(w, "--data d.csv --hidden 2")["runs"][0]["nse"]);
}

TEST(Run, SaysWhenTheHorizonIsTooLong) {
  const Workplace w;
  w.file("d.csv", samples(20, ","));
  const Ran ran = w.kalstream("run --data d.csv --hidden 2 --horizon 30");
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_THAT(ran.err, HasSubstr("no kNSE"));
}

TEST(Run, AWildInputIsSkippedAndLearningGoesOn) {
  const Workplace w;
  std::string text;
  std::istringstream lines(samples(300, ","));
  int n = 0;
  for (std::string line; std::getline(lines, line);)
    text += (++n % 50 == 0 ? std::string(n % 100 == 0 ? "1.7e308,-1.7e308,0.1" : "-1e300,1e300,0")
                           : line) +
            "\n";
  w.file("wild.csv", text);
  const Json all =
      run_json(w, "--data wild.csv --hidden 4 --unscaled --learner ekf,dekf,iekf,alg1,alg2,sgd");
  ASSERT_EQ(all["runs"].size(), 6U);
  for (const Json& run : all["runs"]) {
    EXPECT_EQ(run["skipped_rows"], 6) << run["learner"];
    EXPECT_EQ(run["scored"], 293) << run["learner"];
  }
}

// ---- The other commands

TEST(Generate, WritesWhatRunReads) {
  const Workplace w;
  for (const char* name : {"addition", "kin-like", "puma-like", "mackey-glass", "narma10", "lorenz",
                           "friedman", "sine"}) {
    const std::string out = std::string(name) + ".csv";
    ASSERT_EQ(w.kalstream(std::string("generate ") + name + " --rows 40 --out " + out).exit_code,
              fine)
        << name;
    EXPECT_EQ(run_json(w, "--data " + out + " --hidden 2 --learner adam")["runs"][0]["nse"],
              run_json(w, std::string("--data gen:") + name +
                              " --steps 40 --hidden 2 --learner adam")["runs"][0]["nse"])
        << name;
  }
  const Ran ran = w.kalstream("generate addition --set n=4 --set seed=9 --rows 3");
  EXPECT_EQ(ran.exit_code, fine);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 4);
}

TEST(Inspect, ShowsDataAndSettings) {
  const Workplace w;
  w.file("d.csv", "load,price\n1,20\n2,30\n3,25\n");
  const Ran data = w.kalstream("inspect --data d.csv");
  EXPECT_EQ(data.exit_code, fine);
  EXPECT_THAT(data.out, AllOf(HasSubstr("3 rows"), HasSubstr("price"), HasSubstr("--scale")));
  EXPECT_EQ(w.kalstream("inspect --learner alg2,ekf --preset authors:kin8nm").exit_code, fine);
  const Ran learner = w.kalstream("inspect --learner alg2 --preset authors:addition");
  EXPECT_EQ(learner.exit_code, fine);
  EXPECT_THAT(learner.out, AllOf(HasSubstr("alg2.feedback"), HasSubstr("mixture")));
}

TEST(Demo, EndsWithATableAndAPicture) {
  const Workplace w;
  const Ran ran = w.kalstream("demo --data gen:sine --steps 150 --out curves.svg");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("auto"), HasSubstr(w.path("curves.svg").string())));
  EXPECT_THAT(read_text(w.path("curves.svg")), HasSubstr("<svg"));
}

// ---- Bench

TEST(Bench, MeasuresEveryLearner) {
  const Workplace w;
  const Ran table = w.kalstream("bench --hidden 3 --inputs 2 --seconds 0.3");
  ASSERT_EQ(table.exit_code, fine) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("3 units, 2 inputs, 1 output"), HasSubstr("alg2"),
                               HasSubstr("kernels")));

  const Ran json =
      w.kalstream("bench --hidden 3 --outputs 2 --learner ekf,adam --seconds 0.2 --json -");
  ASSERT_EQ(json.exit_code, fine) << json.err;
  const Json j = Json::parse(json.out);
  ASSERT_EQ(j["learners"].size(), 2U);
  for (const Json& l : j["learners"]) {
    EXPECT_GT(l["us_per_sample"], 0);
    EXPECT_LE(l["us_p05"], l["us_p95"]);
    EXPECT_EQ(l["update_fraction"], 1);
  }
  EXPECT_EQ(j["outputs"], 2);
}

TEST(Bench, SaysWhatDoesNotFit) {
  const Workplace w;
  const Ran ran = w.kalstream("bench --hidden 2000 --learner ekf,sgd --seconds 0.1 --window 2");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("does not fit"));
}

TEST(Kernels, AreChosenByTheEnvironment) {
  const Workplace w;
  ASSERT_EQ(setenv("KALSTREAM_TARGET", "portable", 1), 0);
  const Ran portable = w.kalstream("bench --hidden 2 --learner sgd --seconds 0.1 --json -");
  ASSERT_EQ(setenv("KALSTREAM_TARGET", "avx1024", 1), 0);
  const Ran unknown = w.kalstream("bench --hidden 2 --seconds 0.1");
  ASSERT_EQ(unsetenv("KALSTREAM_TARGET"), 0);
  EXPECT_EQ(Json::parse(portable.out)["target"], "portable");
  EXPECT_EQ(unknown.exit_code, usage);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("avx1024"), HasSubstr("portable")));
}

}  // namespace
}  // namespace kalstream::test
