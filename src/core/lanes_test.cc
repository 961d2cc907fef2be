#include "core/lanes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kalstream {
namespace {

TEST(LanesThreads, DoEveryTaskOnceWhoeverOwnsIt) {
  for (const std::size_t threads : {1, 2, 5}) {
    Workers workers(threads);
    Lanes lanes;
    for (const std::size_t owners : {1, 3, 100})
      for (const std::size_t count : {0, 1, 2, 40}) {
        std::vector<Lanes::Task> tasks;
        for (std::size_t k = 0; k < count; ++k)
          tasks.push_back({.owner = k % owners, .begin = k, .end = k + 1});
        std::vector<int> times(count, 0);
        lanes.run(workers, tasks, [&](const Lanes::Task& task) { ++times[task.begin]; });
        EXPECT_EQ(times, std::vector<int>(count, 1));
      }
  }
}

TEST(LanesThreads, BeginWithTheLargest) {
  Workers alone(1);
  Lanes lanes;
  std::vector<Lanes::Task> tasks{{7, 0, 1}, {7, 1, 4}, {7, 4, 6}};
  std::vector<std::size_t> sizes;
  lanes.run(alone, tasks, [&](const Lanes::Task& t) { sizes.push_back(t.end - t.begin); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 2, 1}));
}

// All tasks are of one lane, and the first of them ends only when another has begun.
TEST(LanesThreads, TakeTheTasksOfOthers) {
  Workers workers(2);
  Lanes lanes;
  std::vector<Lanes::Task> tasks{{0, 0, 2}, {0, 2, 3}};
  std::atomic<int> begun = 0;
  lanes.run(workers, tasks, [&](const Lanes::Task&) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 2);
}

TEST(SharedWorkersThreads, WhoComesLaterWorksAlone) {
  SharedWorkers shared(3);
  shared.use([&](Workers& mine) {
    EXPECT_EQ(mine.size(), 3U);
    std::thread([&] { shared.use([](Workers& others) { EXPECT_EQ(others.size(), 1U); }); }).join();
  });
}

}  // namespace
}  // namespace kalstream
