#include <gtest/gtest.h>

#include <array>

#include "fleet/worker_status.h"

namespace kalstream::fleet {
namespace {

TEST(Tally, KnowsTheSlowestKeysOfLate) {
  Tally tally;
  for (int k = 1; k <= 9; ++k) tally.count_answer("key " + std::to_string(k), k);
  tally.count_answer("key 6", 20);
  tally.count_answer("key 9", 1);  // its slowest counts
  const auto slowest = tally.status().slowest;
  ASSERT_EQ(slowest.size(), 5);
  EXPECT_EQ(slowest[0].key, "key 6");
  EXPECT_EQ(slowest[0].seconds, 20);
  EXPECT_EQ(slowest[1].key, "key 9");
  EXPECT_EQ(slowest[1].seconds, 9);
  EXPECT_EQ(slowest[4].key, "key 5");
  EXPECT_EQ(tally.status().inputs, 11);
  tally.forget_slow();
  EXPECT_TRUE(tally.status().slowest.empty());
}

TEST(Tally, TheTimeOfAnInputFollowsSlowly) {
  Tally tally;
  EXPECT_EQ(tally.seconds_per_input(), 0);
  tally.count_work(100, 1.0);
  EXPECT_DOUBLE_EQ(tally.seconds_per_input(), 0.01);
  tally.count_work(1'000, 20.0);  // a tenth of the way
  EXPECT_DOUBLE_EQ(tally.seconds_per_input(), 0.011);
  tally.count_work(1'000'000, 1000.0);
  EXPECT_DOUBLE_EQ(tally.seconds_per_input(), 0.001);
}

TEST(Tally, CountsWhatIsGivenToBeCommitted) {
  Tally tally;
  const std::array<Message, 4> messages{{{.topic = Topic::answers, .value = "an answer"},
                                         {.topic = Topic::dead, .value = "refused"},
                                         {.topic = Topic::state, .key = "a", .value = "snapshot"},
                                         {.topic = Topic::state, .key = "b"}}};  // forgotten
  tally.count_messages(messages);
  tally.count_restore(0.5, 40);
  const WorkerStatus status = tally.status();
  EXPECT_EQ(status.refused, 1);
  EXPECT_EQ(status.snapshots, 1);
  EXPECT_EQ(status.restores, 1);
  EXPECT_EQ(status.replayed, 40);
  EXPECT_EQ(status.restore_seconds, 0.5);
}

}  // namespace
}  // namespace kalstream::fleet
