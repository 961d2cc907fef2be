// kalstream reproduce and kalstream search, as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <matio.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Json results(const Workplace& w, const std::string& folder) {
  return Json::parse(read_text(w.path(folder) / "results.json"));
}

// All but what the clock decides.
Json without_seconds(Json j) {
  if (j.is_object()) {
    j.erase("seconds");
    j.erase("median_seconds");
  }
  if (j.is_structured())
    for (auto& value : j) value = without_seconds(value);
  return j;
}

TEST(Reproduce, WritesTheWholeReport) {
  const Workplace w;
  const Ran ran = w.kalstream(
      "reproduce table1 --only kin8nm,elevators --learners sgd,rmsprop --seeds 2 --out o");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("report.html"));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("kin8nm: no file was found"), HasSubstr("elevators")));

  const std::string html = read_text(w.path("o") / "report.html");
  EXPECT_THAT(html, AllOf(HasSubstr("kin8nm (kin-like)"), HasSubstr("elevators (missing)"),
                          HasSubstr("0.70 ± 0.23"), HasSubstr("<svg"), Not(HasSubstr("<script"))));
  EXPECT_THAT(read_text(w.path("o") / "report.md"),
              AllOf(HasSubstr("kin8nm (kin-like)"), HasSubstr("figures/learning-curves.svg")));
  EXPECT_TRUE(fs::exists(w.path("o") / "figures" / "learning-curves.svg"));

  const Json j = results(w, "o");
  EXPECT_FALSE(j["machine"].get<std::string>().empty());
  EXPECT_EQ(j["version"], KALSTREAM_VERSION);
  const Json& streams = j["table1"]["streams"];
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_TRUE(streams[0]["substitute"]);
  EXPECT_TRUE(streams[1]["missing"]);
  ASSERT_EQ(streams[0]["rows"].size(), 2U);
  EXPECT_EQ(streams[0]["rows"][1]["published"]["seconds"], 0.59);
  EXPECT_GT(streams[0]["rows"][1]["nse_mean"], 0.1);
  EXPECT_LT(streams[0]["rows"][1]["nse_mean"], 1);
}

TEST(ReproduceThreads, JobsAndResumeDoNotChangeResults) {
  const Workplace w;
  const std::string what = "reproduce table1 --only puma8nm --learners sgd --seeds 3 ";
  ASSERT_EQ(w.kalstream(what + "--quiet --jobs 1 --out one").exit_code, fine);
  ASSERT_EQ(w.kalstream(what + "--quiet --jobs 4 --out many").exit_code, fine);
  EXPECT_EQ(without_seconds(results(w, "one")), without_seconds(results(w, "many")));

  // Interrupted: one run is not there, one is damaged.
  fs::remove(w.path("many") / "runs" / "table1-puma8nm-sgd-1.run");
  w.file("many/runs/table1-puma8nm-sgd-2.run", "damaged");
  fs::remove(w.path("many") / "results.json");
  const Ran resumed = w.kalstream(what + "--out many --resume");
  ASSERT_EQ(resumed.exit_code, fine) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("1 of 3 runs were finished before"));
  EXPECT_EQ(without_seconds(results(w, "one")), without_seconds(results(w, "many")));
}

// The published streams come as MATLAB files.
TEST(Reproduce, ReadsMatFiles) {
  const Workplace w;
  constexpr std::size_t rows = 2600;
  std::vector<double> inputs;
  std::vector<double> targets;
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t k = 0; k < 32; ++k)
      inputs.push_back(std::sin(0.37 * static_cast<double>((t * (k + 1)) % 1009)));
    inputs.push_back(1);
    targets.push_back(0.5 * std::tanh(inputs[t * 33] - inputs[t * 33 + 5]));
  }
  fs::create_directory(w.path("data"));
  mat_t* mat = Mat_CreateVer((w.path("data") / "kin32fm.mat").c_str(), nullptr, MAT_FT_MAT5);
  ASSERT_NE(mat, nullptr);
  const auto put = [&](const char* name, std::vector<double>& values, std::size_t height) {
    std::size_t dims[2] = {height, rows};
    matvar_t* var = Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, values.data(), 0);
    Mat_VarWrite(mat, var, MAT_COMPRESSION_NONE);
    Mat_VarFree(var);
  };
  put("input_set", inputs, 33);
  put("target_set", targets, 1);
  Mat_Close(mat);

  const Ran ran =
      w.kalstream("reproduce figures --data data --only kin32fm --learners sgd --seeds 1 --out o");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const Json j = results(w, "o");
  const Json& stream = j["table1"]["streams"][0];
  EXPECT_FALSE(stream["substitute"]);
  EXPECT_EQ(stream["label"], "kin32fm");
  EXPECT_LT(stream["rows"][0]["nse_mean"], 1);
  EXPECT_THAT(read_text(w.path("o") / "report.md"), Not(HasSubstr("Table 1: six")));
}

TEST(Reproduce, AdditionFromAFile) {
  const Workplace w;
  const Ran made = w.kalstream("generate addition --set n=3 --rows 12000 --out add3seq1.csv");
  ASSERT_EQ(made.exit_code, fine);
  const Ran ran = w.kalstream(
      "reproduce table2 --data . --only add3 --learners rmsprop --seeds 1 --quick --out o");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const Json j = results(w, "o");
  const Json& part = j["table2"]["parts"][0];
  EXPECT_THAT(part["streams"][0]["origin"].get<std::string>(), HasSubstr("add3seq1.csv"));
  EXPECT_THAT(part["streams"][1]["origin"].get<std::string>(), HasSubstr("gen:addition"));
  EXPECT_EQ(part["rows"][0]["attempts"], 2);
  EXPECT_EQ(part["rows"][0]["published_steps"][0], 43778);
}

TEST(Reproduce, MistakesAreExplained) {
  const Workplace w;
  const auto complaint = [&](const std::string& arguments, int code) {
    const Ran ran = w.kalstream("reproduce " + arguments);
    EXPECT_EQ(ran.exit_code, code) << arguments << ran.err;
    return ran.err;
  };
  complaint("", usage);
  complaint("table3", usage);
  EXPECT_THAT(complaint("table1 --only kin9nm", usage), HasSubstr("kin8nm, kin32fm"));
  EXPECT_THAT(complaint("table1 --learners alg3", usage), HasSubstr("alg2-paper"));
  EXPECT_THAT(complaint("table1 --data nowhere", bad_data), HasSubstr("not a directory"));
  EXPECT_THAT(complaint("table2 --learners sgd", usage), HasSubstr("nothing to do"));
  w.file("kin8nm.csv", "x,target\n1,0.5\n2,0.25\n");
  EXPECT_THAT(complaint("table1 --data . --only kin8nm", bad_data),
              HasSubstr("2 rows, but the published run needs 2600"));
}

TEST(Search, FindsTheBestAndShowsTheSurface) {
  const Workplace w;
  const std::string what =
      "search --data gen:sine --learner sgd --steps 200 --seeds 3 --hidden 4 "
      "--grid learning_rate=0.001,0.1 --grid window=2,5,10 --out o ";
  const Ran ran = w.kalstream(what);
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("learning_rate"), HasSubstr("6 combinations"),
                             HasSubstr("kalstream run gen:sine --learner sgd --set")));
  EXPECT_THAT(read_text(w.path("o") / "search.svg"), HasSubstr("<svg"));
  const Json first = Json::parse(read_text(w.path("o") / "search.json"));
  EXPECT_EQ(first["points"].size(), 6U);
  double lowest = 10;
  for (const Json& p : first["points"]) lowest = std::min(lowest, p["mean"].get<double>());
  EXPECT_EQ(first["best"]["mean"], lowest);
  EXPECT_EQ(first["best"]["values"][0], "0.1");

  const Ran resumed = w.kalstream(what + "--resume --json -");
  ASSERT_EQ(resumed.exit_code, fine) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("18 of 18 runs were finished before"));
  EXPECT_EQ(Json::parse(resumed.out), first);
}

// The best point is worth what run says it is.
TEST(Search, AgreesWithRun) {
  const Workplace w;
  const Ran searched = w.kalstream(
      "search --data gen:narma10 --learner rmsprop --steps 150 --seeds 2 --hidden 3 "
      "--grid learning_rate=0.002:0.002:0.006 --json -");
  ASSERT_EQ(searched.exit_code, fine) << searched.err;
  const Json surface = Json::parse(searched.out);
  for (const Json& p : surface["points"]) {
    const Ran ran = w.kalstream(
        "run --data gen:narma10 --learner rmsprop --steps 150 --seeds 2 --hidden 3 --scale "
        "--set learning_rate=" +
        p["values"][0].get<std::string>() + " --json -");
    const Json summary = Json::parse(ran.out)["summary"];
    EXPECT_DOUBLE_EQ(summary[0]["nse_mean"], p["mean"]);
  }
}

TEST(Search, MistakesAreExplained) {
  const Workplace w;
  const auto complaint = [&](const std::string& arguments, int code) {
    const Ran ran = w.kalstream("search " + arguments);
    EXPECT_EQ(ran.exit_code, code) << arguments << ran.err;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  const std::string data = "--data gen:sine --steps 50 --seeds 1 ";
  EXPECT_THAT(complaint(data + "--learner iekf", usage), HasSubstr("name one"));
  EXPECT_THAT(complaint(data + "--grid nothing=1,2", usage), HasSubstr("unknown key"));
  EXPECT_THAT(complaint(data + "--grid hidden=1:0:2", usage), HasSubstr("positive STEP"));
  EXPECT_THAT(complaint(data + "--grid window=2 --grid window=3", usage), HasSubstr("twice"));
  EXPECT_THAT(complaint(data + "--resume", usage), HasSubstr("--out"));
  complaint("--data nowhere.csv", bad_data);
}

}  // namespace
}  // namespace kalstream::test
