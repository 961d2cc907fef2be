// Targets that are classes, by the program: run and stream say the same, and a stream goes on where
// it was left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string states(int rows) {
  std::ostringstream text;
  text << "speed,heat,state\n";
  unsigned state = 7;
  const auto uniform = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / (1 << 24);
  };
  for (int t = 0; t < rows; ++t) {
    const double speed = 3000 * uniform();
    const double heat = 20 + 60 * uniform();
    text << speed << "," << heat << ","
         << (heat > 70     ? "fault"
             : speed > 500 ? "run"
                           : "idle")
         << "\n";
  }
  return text.str();
}

class ClassesTest : public ::testing::Test, protected Workplace {
 protected:
  /// The answers to a file on standard input.
  std::string stream(const std::string& options, const std::string& input) const {
    const Ran ran = kalstream("stream --target state " + options + " < " + input +
                              " > answers 2> errors && true");
    EXPECT_EQ(ran.exit_code, fine) << read_text(path("errors"));
    return read_text(path("answers"));
  }
};

TEST_F(ClassesTest, RunScoresThemAndStreamSaysTheSame) {
  file("states.csv", states(400));
  const Ran table = kalstream("run states.csv --target state");
  EXPECT_EQ(table.exit_code, fine) << table.err;
  EXPECT_THAT(table.out, HasSubstr("calibration error"));
  EXPECT_THAT(table.out, HasSubstr("reliability of auto"));
  const Ran ran = kalstream("run states.csv --target state --json results.json --csv run.csv");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const Json scores = Json::parse(read_text(path("results.json")))["runs"][0]["scores"];
  EXPECT_GT(scores["accuracy"].get<double>(), 0.8);
  EXPECT_LT(scores["log_loss"].get<double>(), 0.5);
  // The table has a column for each class; an answer those that are known.
  const auto rows = fields_of(read_text(path("run.csv")));
  std::istringstream answers(stream("--answers jsonl", "states.csv"));
  std::size_t row = 0;
  for (std::string line; std::getline(answers, line); ++row) {
    const Json said = Json::parse(line);
    EXPECT_EQ(rows[row].at("target"), said.value("target", ""));
    for (const auto& [name, p] : said["probabilities"].items())
      EXPECT_EQ(std::stod(rows[row].at("probability_" + name)), p.get<double>());
  }
  EXPECT_EQ(row, rows.size());
  EXPECT_THAT(read_text(path("errors")), HasSubstr("log loss"));
}

TEST_F(ClassesTest, AStreamGoesOnWhereItWasLeft) {
  const std::string all = states(300);
  std::size_t half = 0;
  for (int line = 0; line < 150; ++line) half = all.find('\n', half) + 1;
  file("all.csv", all);
  file("first.csv", all.substr(0, half));
  const std::string whole = stream("--answers jsonl", "all.csv");
  const std::string first = stream("--answers jsonl --checkpoint state.ks", "first.csv");
  const std::string second = stream("--answers jsonl --checkpoint state.ks --resume", "all.csv");
  EXPECT_THAT(whole, HasSubstr("\"probabilities\":{"));
  EXPECT_EQ(whole, first + second);  // lines that were learnt are passed over
}

// Labels that come with their sample, later, or never; a class that nobody knew of.
TEST_F(ClassesTest, AnswersSayWhatIsKnown) {
  file("lines.jsonl", R"({"load":1,"state":"idle"}
{"load":9,"state":"run"}
{"load":1,"state":"idle"}
{"load":9}
{"id":"a","load":1}
{"load":9,"state":null}
{"id":"a","state":"idle"}
{"load":50,"state":"fault"}
{"load":1,"state":"idle"}
{"load":"hot","state":"run"}
)");
  const std::string answers = stream("--json summary.json", "lines.jsonl");
  std::vector<Json> said;
  std::istringstream lines(answers);
  for (std::string line; std::getline(lines, line);) said.push_back(Json::parse(line));
  ASSERT_EQ(said.size(), 10U);
  const auto known = [&](std::size_t k) { return said[k]["probabilities"].size(); };
  const auto is = [&](std::size_t k, const char* status) { EXPECT_EQ(said[k]["status"], status); };

  is(0, "learnt");
  EXPECT_TRUE(said[0]["prediction"].is_null());
  EXPECT_EQ(known(0), 0U);
  EXPECT_EQ(known(1), 1U);  // "run" is the target, and not known yet
  EXPECT_EQ(said[1]["target"], "run");
  EXPECT_EQ(known(2), 2U);
  for (const std::size_t k : {3, 4, 5}) {
    is(k, "predicted");
    EXPECT_FALSE(said[k].contains("target")) << said[k];
  }
  is(6, "labelled");
  EXPECT_EQ(said[6]["id"], "a");
  EXPECT_EQ(said[6]["target"], "idle");
  EXPECT_EQ(said[6]["probabilities"], said[4]["probabilities"]);  // of then
  EXPECT_EQ(said[7]["target"], "fault");
  EXPECT_FALSE(said[7]["probabilities"].contains("fault"));
  EXPECT_TRUE(said[8]["probabilities"].contains("fault"));
  for (const Json& answer : said) {
    if (!answer.contains("probabilities") || answer["probabilities"].size() < 2) continue;
    double sum = 0;
    for (const double p : answer["probabilities"]) sum += p;
    EXPECT_NEAR(sum, 1, 1e-12);
    const double of_prediction = answer["probabilities"][answer["prediction"].get<std::string>()];
    for (const double p : answer["probabilities"]) EXPECT_LE(p, of_prediction);
  }
  is(9, "refused");
  EXPECT_THAT(said[9].dump(), HasSubstr("load"));

  const Json summary = Json::parse(read_text(path("summary.json")));
  EXPECT_EQ(summary["samples"], 8);
  EXPECT_EQ(summary["learnt"], 6);
  EXPECT_EQ(summary["missing"], 2);
  EXPECT_EQ(summary["refused"], 1);
}

// Each key has its own classes, also in a folder that is gone on from; inspect tells them.
TEST_F(ClassesTest, ModelsOfKeysKeepTheirOwn) {
  const auto lines = [](int first, int last) {
    std::string text = "device,load,state\n";
    for (int t = first; t < last; ++t)
      text += t % 2 == 0 ? "pump," + std::to_string(t % 5) + (t % 5 > 2 ? ",on\n" : ",off\n")
                         : "door," + std::to_string(t % 3) + (t % 3 > 1 ? ",open\n" : ",shut\n");
    return text;
  };
  const std::string options = "--key device --hidden 4 --answers csv --checkpoint ";
  file("all.csv", lines(0, 80));
  file("first.csv", lines(0, 50));
  file("second.csv", lines(50, 80));
  const std::string whole = stream(options + "whole", "all.csv");
  const std::string first = stream(options + "parts", "first.csv");
  const std::string second = stream(options + "parts --resume", "second.csv");
  EXPECT_EQ(whole, first + second);

  const Ran pump = kalstream("inspect parts --key pump");
  EXPECT_EQ(pump.exit_code, fine) << pump.err;
  EXPECT_THAT(pump.out, HasSubstr("classes: off, on"));
  EXPECT_THAT(pump.out, HasSubstr("log loss"));
  EXPECT_THAT(pump.out, HasSubstr("boosted"));
  EXPECT_THAT(pump.out, Not(HasSubstr("window4")));  // an expert for numbers
  EXPECT_THAT(kalstream("inspect parts --key door").out, HasSubstr("classes: shut, open"));
}

TEST_F(ClassesTest, ASearchIsForTheLeastLogLoss) {
  file("states.csv", states(200));
  const Ran ran = kalstream(
      "search states.csv --target state --learner ekf --hidden 2 --seeds 1 "
      "--grid initial_covariance=0.0001,10 --json -");
  ASSERT_EQ(ran.exit_code, fine) << ran.err;
  const Json found = Json::parse(ran.out);
  EXPECT_EQ(found["measure"], "log loss");
  EXPECT_EQ(found["best"]["values"][0], "10");
  EXPECT_LT(found["best"]["mean"], found["points"][0]["mean"]);
}

TEST_F(ClassesTest, WhatCannotBeIsSaid) {
  file("states.csv", states(30));
  const Ran saved = kalstream("run states.csv --target state --save learnt.kal");
  EXPECT_EQ(saved.exit_code, usage);
  EXPECT_THAT(saved.err, HasSubstr("--save is for targets that are numbers"));
  stream("--checkpoint state.ks", "states.csv");
  const Ran begun =
      kalstream("stream --start state.ks --target state < states.csv 2> errors && true");
  EXPECT_EQ(begun.exit_code, usage);
  EXPECT_THAT(read_text(path("errors")), HasSubstr("go on from a checkpoint"));
  const std::string refused = stream("--classes 2 --answers jsonl", "states.csv");
  EXPECT_THAT(refused, HasSubstr("is one more than the 2 that there may be"));
  EXPECT_THAT(kalstream("run states.csv --target state --task regress").err, HasSubstr("is text"));
  EXPECT_THAT(kalstream("run states.csv --target state --horizon 3").err,
              HasSubstr("--horizon is for targets that are numbers"));
  EXPECT_THAT(kalstream("run states.csv --target state --learner rls").err,
              HasSubstr("the learner rls cannot tell classes"));
  EXPECT_THAT(kalstream("forecast states.csv --target state").err,
              HasSubstr("classes are not forecast"));
}

}  // namespace
}  // namespace kalstream::test
