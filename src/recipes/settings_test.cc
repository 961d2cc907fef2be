#include "kalstream/settings.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace kalstream {
namespace {

std::string complaint(const Rule& rule, const std::string& key, const std::string& value) {
  LearnerOptions options{.network = {}, .rule = rule};
  try {
    set_option(options, key, value);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// The value of a setting after it was set.
std::string shown(const Rule& rule, const std::string& key, const std::string& value) {
  LearnerOptions options{.network = {}, .rule = rule};
  set_option(options, key, value);
  for (const Setting& s : settings_of(options))
    if (s.key == key) return s.value;
  return "nothing of this name";
}

TEST(SetOption, SetsOneByName) {
  LearnerOptions options{.network = {}, .rule = Ekf{}};
  set_option(options, "hidden", "7");
  set_option(options, "process_noise", "1..0@50");
  EXPECT_EQ(options.network.hidden, 7U);
  EXPECT_EQ(std::get<Ekf>(options.rule).process_noise.at(25), 0.5);
}

TEST(SetOption, NamesWhatIsWrong) {
  EXPECT_EQ(complaint(Ekf{}, "hidden", "many"), "hidden: 'many' is not a whole number");
  EXPECT_EQ(complaint(Ekf{}, "direct", "yes"), "direct: 'yes' is not true or false");
  EXPECT_EQ(complaint(Dekf{}, "partition", "row"),
            "partition: 'row' is not one of node, unit, gate, full");
  EXPECT_EQ(complaint(Ar{}, "hidden", "7"),
            "ar has no option 'hidden'; it has lags, initial_covariance, process_noise");
  EXPECT_EQ(complaint(Naive{}, "lags", "7"), "naive has no option 'lags'; it has none");
}

TEST(SetOption, SaysWhatMayHaveBeenMeant) {
  EXPECT_EQ(complaint(Ar{}, "proces_noise", "1"),
            "ar has no option 'proces_noise'; it has lags, initial_covariance, process_noise; did "
            "you mean 'process_noise'?");
}

TEST(SetOption, LeavesWhatItRefusesAsItWas) {
  LearnerOptions options{.network = {}, .rule = Algorithm2{.error_bounds = {1, 2}}};
  EXPECT_THROW(set_option(options, "error_bounds", "3,x"), std::invalid_argument);
  EXPECT_EQ(std::get<Algorithm2>(options.rule).error_bounds, (std::vector<double>{1, 2}));
}

TEST(SettingsOf, ShowWhatWasSet) {
  for (const char* number : {"0", "0.25", "1000", "100000", "0.0001", "1e-5", "1e-300", "1e+16",
                             "0.30000000000000004", "nan"})
    EXPECT_EQ(shown(Algorithm1{}, "noise_floor", number), number);
  for (const char* schedule : {"0.1", "1..0.001@5000", "1e-3~1e-6@2000"})
    EXPECT_EQ(to_text(schedule_from(schedule)),
              std::string(schedule) == "1e-3~1e-6@2000" ? "0.001~1e-6@2000" : schedule);
  EXPECT_EQ(shown(Ekf{}, "output_gate_bias", "-0.5"), "-0.5");
  EXPECT_EQ(shown(Ekf{}, "output_gate_bias", "none"), "none");
  EXPECT_EQ(shown(Algorithm2{}, "error_bounds", "0.5,0.125"), "0.5,0.125");
  EXPECT_EQ(shown(Algorithm2{}, "error_bounds", ""), "(built in)");
  EXPECT_EQ(shown(Algorithm2{}, "feedback", "mixture"), "mixture");
}

TEST(SettingsOf, SayWhatIsPermitted) {
  const auto settings = settings_of({.network = {}, .rule = RmsProp{}});
  EXPECT_EQ(settings[0].permitted, "finite and positive");
  EXPECT_EQ(settings[1].permitted, "at least 0 and less than 1");
}

TEST(Schedule, AsText) {
  EXPECT_EQ(schedule_from("2..1", 50).at(25), 1.5);  // over the run
  for (const char* bad : {"", "1..", "1..2@", "1~2", "1~x@3", "one", "1..2@3 "})
    EXPECT_THROW(schedule_from(bad), std::invalid_argument) << bad;
}

TEST(RuleNamed, KnowsEveryName) {
  for (const LearnerName& l : learner_names()) EXPECT_EQ(name_of(rule_named(l.name)), l.name);
  EXPECT_EQ(learner_names().front().name, name_of(LearnerOptions{}.rule));
}

TEST(RuleNamed, SaysWhatIsKnownAndWhatMayHaveBeenMeant) {
  const auto complaint_about = [](const char* name) {
    try {
      rule_named(name);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string known =
      "known: auto, auto-max, sgd, rmsprop, adam, ekf, dekf, iekf, alg1, alg2, pekf, kernel, "
      "trees, rls, "
      "ar, naive, mean";
  EXPECT_EQ(complaint_about("nothing"), "unknown learner 'nothing'; " + known);
  EXPECT_EQ(complaint_about("automax"),
            "unknown learner 'automax'; " + known + "; did you mean 'auto-max'?");
}

TEST(RemarkOn, AutoMaxWithoutInputs) {
  LearnerOptions options{.network = {.inputs = 0}, .rule = Auto{.full_ekf = true}};
  EXPECT_NE(remark_on(options), "");
  options.network.inputs = 1;
  EXPECT_EQ(remark_on(options), "");
  EXPECT_EQ(remark_on({.network = {.inputs = 0}, .rule = Auto{}}), "");
}

}  // namespace
}  // namespace kalstream
