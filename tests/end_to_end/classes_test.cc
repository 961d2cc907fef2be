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
  const std::string streamed = stream("--answers csv", "states.csv");
  EXPECT_EQ(streamed, read_text(path("run.csv")));
  EXPECT_THAT(read_text(path("errors")), HasSubstr("log loss"));
}

TEST_F(ClassesTest, AStreamGoesOnWhereItWasLeft) {
  const std::string all = states(300);
  std::size_t half = 0;
  for (int line = 0; line < 150; ++line) half = all.find('\n', half) + 1;
  const std::string header = all.substr(0, all.find('\n') + 1);
  file("all.csv", all);
  file("first.csv", all.substr(0, half));
  file("second.csv", header + all.substr(half));
  const std::string whole = stream("--answers json", "all.csv");
  const std::string first = stream("--answers json --checkpoint state.ks", "first.csv");
  const std::string second =
      stream("--answers json --checkpoint state.ks --resume state.ks", "second.csv");
  EXPECT_THAT(whole, HasSubstr("\"probabilities\":{"));
  EXPECT_EQ(whole, first + second);
}

TEST_F(ClassesTest, WhatCannotBeIsSaid) {
  file("states.csv", states(30));
  EXPECT_THAT(kalstream("run states.csv --target state --task regress").err, HasSubstr("is text"));
  EXPECT_THAT(kalstream("run states.csv --target state --horizon 3").err,
              HasSubstr("--horizon is for targets that are numbers"));
  EXPECT_THAT(kalstream("run states.csv --target state --learner rls").err,
              HasSubstr("the learner rls cannot tell classes"));
  EXPECT_THAT(kalstream("search states.csv --target state --learner ekf").err,
              HasSubstr("is a class"));
}

}  // namespace
}  // namespace kalstream::test
