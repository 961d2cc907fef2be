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

TEST(SetOption, SetsOneByName) {
  LearnerOptions options{.network = {}, .rule = Ekf{}};
  set_option(options, "hidden", "7");
  set_option(options, "process_noise", "1..0@50");
  EXPECT_EQ(options.network.hidden, 7U);
  EXPECT_EQ(std::get<Ekf>(options.rule).process_noise.at(25), 0.5);
}

TEST(SetOption, NamesWhatIsWrong) {
  EXPECT_EQ(complaint(Ekf{}, "hidden", "many"), "hidden: 'many' is not a whole number");
  EXPECT_EQ(complaint(Ar{}, "hidden", "7"),
            "ar has no option 'hidden'; it has lags, initial_covariance, process_noise");
  EXPECT_EQ(complaint(Naive{}, "lags", "7"), "naive has no option 'lags'; it has none");
}

TEST(RuleNamed, KnowsEveryName) {
  for (const LearnerName& l : learner_names()) EXPECT_EQ(name_of(rule_named(l.name)), l.name);
  EXPECT_THROW(rule_named("nothing"), std::invalid_argument);
}

}  // namespace
}  // namespace kalstream
