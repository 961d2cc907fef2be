#include "serve/board.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lines/record_reader.h"

namespace kalstream::serve {
namespace {

using nlohmann::json;

/// A small stream and what is seen of it.
class Seen {
 public:
  explicit Seen(BoardLimits limits = {}, const std::string& key = "",
                std::int64_t budget = 1'000'000)
      : budget_(budget),
        board("s", {.learner = "rls"}, 0, limits, budget_),
        engine_(options(key), nullptr) {
    board.settle(engine_);
  }

  void line(const std::string& text) {
    RecordReader reader;
    reader.read(text, record_);
    const bool settled = engine_.settled();
    const Answer* answer = engine_.take({.record = record_});
    if (!settled && engine_.settled()) board.settle(engine_);
    board.answered(*answer, ++time_);
    engine_.learn();
    board.count(engine_);
  }
  void sample(int t, const std::string& more = "") {
    line("{\"a\":" + std::to_string(std::sin(t)) + more + ",\"target\":" + std::to_string(t % 5) +
         "}");
  }
  json history(const View& view = {}, std::size_t points = 1000) const {
    return json::parse(board.history_json(view, points));
  }

 private:
  static EngineOptions options(const std::string& key) {
    EngineOptions o;
    o.fields.key = key;
    o.model.horizon = 2;
    o.recipe = [](std::size_t inputs, std::size_t outputs) {
      return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = Rls{}}, true};
    };
    return o;
  }

  PointBudget budget_;

 public:
  Board board;

 private:
  Engine engine_;
  Record record_;
  std::int64_t time_ = 0;
};

TEST(ServeBoard, TheLastPointsAreShown) {
  Seen seen({.points = 20});
  EXPECT_EQ(seen.history()["points"]["sample"].size(), 0U);
  for (int t = 1; t <= 50; ++t) seen.sample(t);
  const json h = seen.history();
  ASSERT_EQ(h["points"]["sample"].size(), 20U);
  EXPECT_EQ(h["points"]["sample"][0], 31);
  EXPECT_EQ(h["points"]["sample"][19], 50);
  EXPECT_EQ(h["points"]["at"][19], 50);
  EXPECT_EQ(h["points"]["target"][19], 0);
  EXPECT_EQ(h["forecast"]["value"].size(), 2U);
  EXPECT_EQ(h["target"], "target");
  EXPECT_TRUE(h["key"].is_null());
  EXPECT_EQ(seen.history({}, 5)["points"]["sample"].size(), 5U);
  const json s = json::parse(seen.board.stream_json(Board::Detail::all));
  EXPECT_EQ(s["samples"], 50);
  EXPECT_EQ(s["learner"], "rls");
  EXPECT_TRUE(s["naive_nse_recent"].is_number());
  EXPECT_EQ(s["schema"]["fields"].size(), 2U);
}

TEST(ServeBoard, LateTargetsFillTheirPoints) {
  Seen seen;
  seen.sample(1);
  seen.line(R"({"id":"x","a":1})");
  seen.line(R"({"id":"y","a":2})");
  EXPECT_TRUE(seen.history()["points"]["target"][1].is_null());
  const std::uint64_t before = seen.board.events();
  seen.line(R"({"id":"x","target":7})");
  EXPECT_EQ(seen.history()["points"]["target"][1], 7);
  EXPECT_TRUE(seen.history()["points"]["target"][2].is_null());
  const auto news = seen.board.news({}, before, 10);
  EXPECT_NE(news.text.find(
                "event: label\ndata: {\"stream\":\"s\",\"key\":null,\"sample\":2,\"target\":7"),
            std::string::npos)
      << news.text;
}

TEST(ServeBoard, EventsComeOnce) {
  Seen seen;
  seen.sample(1);
  auto news = seen.board.news({}, 0, 10);
  EXPECT_EQ(news.events, 1U);
  EXPECT_EQ(seen.board.news({}, news.last, 10).events, 0U);
  for (int t = 2; t < 30; ++t) seen.sample(t);
  news = seen.board.news({}, news.last, 10);
  EXPECT_EQ(news.events, 10U);
  EXPECT_EQ(news.left_out, 18U);
}

TEST(ServeBoard, KeysAreApart) {
  Seen seen({.of_key = 10, .of_keys = 45}, "k");
  for (int t = 0; t < 120; ++t) seen.sample(t, ",\"k\":\"key " + std::to_string(t % 6) + "\"");
  std::size_t shown = 0;
  for (int k = 0; k < 6; ++k) {
    const json h = seen.history({.key = "key " + std::to_string(k)});
    const std::size_t n = h["points"]["sample"].size();
    EXPECT_GE(n, 7U);  // its share
    EXPECT_EQ(h["points"]["sample"][n - 1], 20);
    shown += n;
  }
  EXPECT_EQ(shown, 45U);
  EXPECT_EQ(seen.history({.key = "never"})["points"]["sample"].size(), 0U);
  const json mixed = seen.history();
  EXPECT_EQ(mixed["points"]["key"].size(), 10U);
  EXPECT_EQ(mixed["points"]["key"][9], "key 5");
  EXPECT_EQ(seen.board.news({.key = "key 1"}, 0, 100).text.find("key 2"), std::string::npos);
}

TEST(ServeBoard, ModelsAreFoundAndSorted) {
  Seen seen({.keys = 4}, "k");
  for (const char* key : {"gone", "Boiler", "pump", "boiler 2", "<script>"})
    for (int t = 0; t <= static_cast<int>(std::string(key).size()); ++t)
      seen.sample(t, ",\"k\":\"" + std::string(key) + "\"");
  const auto keys = [&](const ModelQuery& query) {
    std::string all;
    const json found = json::parse(seen.board.models_json(query));
    for (const json& model : found["models"]) all += model["key"].get<std::string>() + ';';
    return all;
  };
  EXPECT_EQ(keys({}), "<script>;Boiler;boiler 2;pump;");
  EXPECT_EQ(keys({.search = "BOILER"}), "Boiler;boiler 2;");
  EXPECT_EQ(keys({.descending = true, .limit = 2}), "pump;boiler 2;");
  EXPECT_EQ(keys({.sort = "samples", .offset = 1}), "Boiler;<script>;boiler 2;");
  EXPECT_EQ(keys({.sort = "age"}), "<script>;boiler 2;pump;Boiler;");
  seen.board.forget("pump");
  EXPECT_EQ(keys({.search = "p"}), "<script>;");
  seen.board.know({"before"});  // unused since the start: last, whatever is asked for
  EXPECT_EQ(keys({.sort = "samples"}), "Boiler;<script>;boiler 2;before;");
  EXPECT_EQ(keys({.sort = "age", .descending = true}), "Boiler;boiler 2;<script>;before;");
  const json found = json::parse(seen.board.models_json({.search = "before"}));
  EXPECT_TRUE(found["models"][0]["last"].is_null());
  EXPECT_TRUE(found["models"][0]["samples"].is_null());
}

TEST(ServeBoard, PointsAreBoundedOverAllStreams) {
  Seen seen({.points = 1000}, "", /*budget=*/100);
  for (int t = 0; t < 500; ++t) seen.sample(t);
  EXPECT_EQ(seen.history()["points"]["sample"].size(), 100U);
  EXPECT_EQ(seen.history()["points"]["sample"][99], 500);
}

}  // namespace
}  // namespace kalstream::serve
