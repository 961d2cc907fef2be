#include "settings/stream_settings.h"

#include <gtest/gtest.h>

namespace kalstream {
namespace {

std::string complaint(const std::string& json) {
  try {
    settings_from_json(json);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(StreamSettings, DefaultsNeedNoWords) {
  EXPECT_EQ(to_json({}), "{}");
  EXPECT_EQ(to_json(settings_from_json("{}")), "{}");
}

TEST(StreamSettings, GoThroughJson) {
  const std::string text =
      R"({"target":["y","3"],"key":"device","missing":"hold","learner":"alg1","budget_us":0.5,)"
      R"("seed":18446744073709551615,"set":["hidden=4"],"unscaled":true,"horizon":24,)"
      R"("period":["24","168"],"elapsed":"yes","interval":0.9,"max_delay":0})";
  std::string allowed = text;
  allowed.replace(allowed.find("0.5"), 3, "500");
  const std::string again = to_json(settings_from_json(allowed));
  EXPECT_EQ(again, to_json(settings_from_json(again)));
  const StreamSettings s = settings_from_json(allowed);
  EXPECT_EQ(s.fields.targets, (std::vector<std::string>{"y", "3"}));
  EXPECT_EQ(s.seed, 18446744073709551615U);
  EXPECT_EQ(s.max_delay, 0U);
  EXPECT_NE(complaint(text).find("0.5 is not from 1"), std::string::npos) << complaint(text);
}

TEST(StreamSettings, PeopleWriteListsAsText) {
  const StreamSettings s = settings_from_json(R"({"target":2,"inputs":"a,b","period":24})");
  EXPECT_EQ(s.fields.targets, std::vector<std::string>{"2"});
  EXPECT_EQ(s.fields.inputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.time.period, std::vector<std::string>{"24"});
}

TEST(StreamSettings, SeveralCoveragesAreInOrder) {
  for (const char* text : {R"({"interval":[0.95,0.5,0.8]})", R"({"interval":"0.8,0.95,0.5"})"}) {
    const StreamSettings s = settings_from_json(text);
    EXPECT_EQ(s.interval.widest, 0.95);
    EXPECT_EQ(s.interval.inner, (std::vector<double>{0.5, 0.8}));
    EXPECT_EQ(to_json(s), R"({"interval":[0.5,0.8,0.95]})");
  }
  EXPECT_NE(complaint(R"({"interval":[0.8,0.8]})").find("once"), std::string::npos);
  EXPECT_NE(complaint(R"({"interval":[0.8,1]})").find("1 is not from 0.01"), std::string::npos);
  EXPECT_NE(complaint(R"({"interval":"wide"})").find("list of numbers"), std::string::npos);
}

TEST(StreamSettings, ComplaintsNameWhatIsWrong) {
  EXPECT_NE(complaint(R"({"lerner":"auto"})").find("did you mean 'learner'?"), std::string::npos);
  EXPECT_NE(complaint(R"({"horizon":1.5})").find("\"horizon\""), std::string::npos);
  EXPECT_NE(complaint(R"({"missing":"forget"})").find("refuse, hold"), std::string::npos);
  EXPECT_NE(complaint(R"({"loss":"hinge"})").find("poisson, huber"), std::string::npos);
  EXPECT_NE(complaint(R"({"surprise":1})").find("true or false"), std::string::npos);
  EXPECT_NE(complaint("[]").find("JSON object"), std::string::npos);
  EXPECT_NE(complaint(R"({"experts":2,"budget_us":9})").find("exclude"), std::string::npos);
  EXPECT_NE(complaint("{").find("JSON object"), std::string::npos);
}

}  // namespace
}  // namespace kalstream
