#include "serve/events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "http/server.h"
#include "http_visitor.h"

namespace kalstream::serve {
namespace {

using nlohmann::json;

/// As many streams as are wanted, of which nothing is there but what is seen of them.
class ManyBoards : public Boards {
 public:
  explicit ManyBoards(int count) {
    for (int k = 0; k < count; ++k) add("stream-" + std::to_string(100'000 + k));
  }
  void add(const std::string& name) {
    all.push_back(std::make_shared<Board>(name, StreamSettings{}, 0, BoardLimits{}, budget_));
  }

  std::vector<std::shared_ptr<const Board>> boards() const override {
    return {all.begin(), all.end()};
  }
  std::shared_ptr<const Board> board(const std::string&) const override { return nullptr; }

  std::vector<std::shared_ptr<Board>> all;

 private:
  PointBudget budget_{1000};
};

// However many streams there are, what comes in a second has a bound; each is told in its turn.
TEST(ThreadsServeEvents, ManyStreamsAreToldInTurn) {
  constexpr int count = 3000;
  ManyBoards boards(count);
  Events events(boards);
  const http::Server server({}, [&](const std::shared_ptr<http::Exchange>& exchange) {
    auto stream = std::make_shared<http::EventStream>();
    events.listen("", {}, stream);
    exchange->answer(std::move(stream));
  });
  test::HttpVisitor visitor(server.port());
  ASSERT_TRUE(visitor.say(visitor.request("GET", "/")));
  ASSERT_EQ(visitor.answer().status, 200);
  const auto next = [&] {
    EXPECT_NE(visitor.until("event: streams\ndata: "), "");
    const std::string text = visitor.until("\n\n");
    EXPECT_LT(text.size(), http::EventStream::most);
    return json::parse(text);
  };
  const json first = next();
  EXPECT_EQ(first["total"], count);
  EXPECT_FALSE(first["next"].is_null());
  EXPECT_EQ(first["streams"][0]["name"], "stream-100000");

  events.tick(true);  // nothing has changed, and nothing is told
  for (const auto& board : boards.all) {
    StreamStatus status;
    status.samples_per_second = 7;
    board->set_status(status);
  }
  std::set<std::string> told;
  for (int second = 0; told.size() < count && second < count; ++second) {
    events.tick(true);
    const json page = next();
    for (const json& stream : page["streams"]) {
      EXPECT_EQ(stream["rate"], 7);
      EXPECT_TRUE(told.insert(stream["name"]).second);
    }
  }
  EXPECT_EQ(told.size(), static_cast<std::size_t>(count));

  boards.all.erase(boards.all.begin() + 5);
  boards.add("stream-new");
  events.tick(true);
  const json last = next();
  EXPECT_EQ(last["total"], count);
  EXPECT_EQ(last["removed"], json::array({"stream-100005"}));
  EXPECT_EQ(last["streams"].size(), 1U);
  EXPECT_EQ(last["streams"][0]["name"], "stream-new");
}

}  // namespace
}  // namespace kalstream::serve
