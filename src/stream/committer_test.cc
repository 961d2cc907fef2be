#include "stream/committer.h"

#include <gtest/gtest.h>

#include "stores/memory_store_test_support.h"

namespace kalstream {
namespace {

// The next one must not begin before it is known what became of this one: models of the next would
// be taken for written when this one is.
TEST(Committer, IsBusyUntilItHasTold) {
  MemoryStore store;
  Committer committer(store);
  EXPECT_FALSE(committer.is_busy());
  committer.start(CheckpointImage(Bytes(3), "", nullptr));
  committer.complete();
  while (!store.stream()) std::this_thread::yield();
  for (int k = 0; k < 1000; ++k) ASSERT_TRUE(committer.is_busy());
  EXPECT_EQ(committer.wait(), "");
  EXPECT_FALSE(committer.is_busy());
  EXPECT_EQ(committer.result(), std::nullopt);
}

}  // namespace
}  // namespace kalstream
