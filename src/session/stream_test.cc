#include "kalstream/stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

constexpr const char* settings =
    R"({"target":"y","key":"site","learner":"rls","lags":2,"interval":0.8,"horizon":2})";

std::string line(int t, const std::string& site) {
  return R"({"site":")" + site + R"(","x":)" + std::to_string(std::sin(0.3 * t)) + R"(,"y":)" +
         std::to_string(std::cos(0.3 * t)) + "}\n";
}

std::string answer_of(Stream& stream, const std::string& record) {
  const auto answer = stream.take(record);
  return answer ? std::string(*answer) : "none";
}

TEST(PublicStream, GoesOnFromACheckpointToTheBit) {
  Stream stream(settings);
  for (int t = 0; t < 40; ++t) stream.take(line(t, t % 3 == 0 ? "a" : "b"));
  const auto saved = stream.checkpoint();
  Stream other(settings);
  other.resume(saved);
  for (int t = 40; t < 60; ++t) {
    const std::string record = line(t, t % 3 == 0 ? "a" : "b");
    EXPECT_EQ(answer_of(other, record), answer_of(stream, record));
  }
  EXPECT_EQ(other.status(), stream.status());
  EXPECT_EQ(other.schema(), stream.schema());
}

// Wider bounds contain the others. The widest are what they are without them, unless that takes
// more.
TEST(PublicStream, SeveralCoveragesAreToldTogether) {
  const auto with = [](const std::string& coverages) {
    return R"({"target":"y","id":"t","learner":"rls","horizon":3,"interval":)" + coverages + "}";
  };
  Stream one(with("0.95"));
  Stream several(with("[0.5,0.8,0.95]"));
  std::optional<Stream> loaded;
  const auto low_of = [](const std::string& answer, const std::string& name) {
    const std::size_t at = answer.find('"' + name + "\":[");
    if (at == std::string::npos) return std::nan("");
    const std::size_t begin = answer.find_first_not_of('[', answer.find(":[", at) + 1);
    return answer.compare(begin, 4, "null") == 0 ? std::nan("") : std::stod(answer.substr(begin));
  };
  int seen = 0;
  for (int t = 0; t < 120; ++t) {
    const std::string x = R"("x":)" + std::to_string(std::sin(0.3 * t));
    const std::string y = R"("y":)" + std::to_string(std::cos(0.7 * t) + std::sin(0.3 * t));
    const std::string at = R"({"t":")" + std::to_string(t) + R"(",)";
    for (const std::string& record : {at + x + "}", at + y + "}"}) {
      const std::string alone = answer_of(one, record);
      const std::string all = answer_of(several, record);
      for (const std::string what : {"interval", "forecast_interval"}) {
        const double widest = low_of(all, what);
        EXPECT_TRUE(std::isnan(widest) || widest <= low_of(alone, what)) << all << alone;
        const double wide = low_of(all, what + "_0.8");
        if (std::isnan(wide)) continue;
        ++seen;
        EXPECT_LE(widest, wide) << all;
        EXPECT_LE(wide, low_of(all, what + "_0.5")) << all;
      }
      if (loaded) {
        EXPECT_EQ(answer_of(*loaded, record), all);
      }
      if (t == 60 && !loaded) {
        loaded.emplace(with("[0.5,0.8,0.95]"));
        loaded->resume(several.checkpoint());
      }
    }
  }
  EXPECT_GT(seen, 200);
}

TEST(PublicStream, ModelsMoveFromOneToAnother) {
  Stream from(settings), to(settings);
  for (int t = 0; t < 30; ++t) from.take(line(t, "a"));
  to.take(line(0, "b"));
  const auto state = from.state_of("a");
  ASSERT_TRUE(state);
  EXPECT_THROW(to.put_state(std::span(*state).first(state->size() - 1), "a"), SnapshotError);
  EXPECT_FALSE(to.state_of("a"));
  to.put_state(*state, "a");
  EXPECT_EQ(to.state_of("a"), state);
  EXPECT_TRUE(to.forget("a"));
  EXPECT_FALSE(to.forget("a"));
}

TEST(PublicStream, AnswersAreWrittenAsRecordsAre) {
  Stream stream(R"({"learner":"rls"})");
  EXPECT_EQ(answer_of(stream, "a,y"), "none");
  const std::string first = answer_of(stream, "1,2\r\n");
  EXPECT_TRUE(first.starts_with("sample,")) << first;
  EXPECT_EQ(answer_of(stream, ""), "none");
  EXPECT_EQ(answer_of(stream, "1,2,3"), ",,refused,,");
  const auto remarks = stream.take_remarks();
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_TRUE(remarks.back().starts_with("line 4: the row has 3 fields")) << remarks.back();
  EXPECT_TRUE(stream.take_remarks().empty());
  Stream json(R"({"learner":"rls"})", Stream::Answers::json);
  json.take("a,y");
  EXPECT_TRUE(answer_of(json, "1,2").starts_with("{")) << answer_of(json, "1,2");
}

TEST(PublicStream, SaysWhatIsWrong) {
  EXPECT_THROW(Stream(R"({"lerner":"rls"})"), std::invalid_argument);
  Stream stream(R"({"learner":"ekf","hidden":100000})");
  EXPECT_THROW(stream.take("1,2"), std::bad_alloc);  // more memory than there is
  Stream begun(settings);
  begun.take(line(0, "a"));
  EXPECT_THROW(begun.resume({}), std::invalid_argument);
  Stream only(R"({"learner":"rls"})");
  EXPECT_THROW(only.state_of("a"), std::invalid_argument);
  EXPECT_THROW(only.resume({}), SnapshotError);
}

}  // namespace
}  // namespace kalstream
