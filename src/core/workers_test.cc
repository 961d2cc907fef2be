#include "core/workers.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace kalstream {
namespace {

TEST(WorkersThreads, DoEveryPieceOnce) {
  for (const std::size_t threads : {1, 2, 5}) {
    Workers workers(threads);
    Workers others(workers);
    for (std::size_t count = 0; count < 50; ++count) {
      std::vector<int> times(count, 0);
      workers.run(count, [&](std::size_t k) { ++times[k]; });
      others.run(count, [&](std::size_t k) { ++times[k]; });
      EXPECT_EQ(times, std::vector<int>(count, 2));
    }
  }
}

TEST(WorkersThreads, TreatDenormalsAsTheCallerDoes) {
  Workers workers(4);
  const volatile double small = std::numeric_limits<double>::min();
  const auto halves = [&] {
    std::vector<double> half(64);
    workers.run(half.size(), [&](std::size_t k) { half[k] = small / 2; });
    return half;
  };
  const auto before = halves();
  EXPECT_EQ(before, std::vector<double>(64, small / 2));
  {
    const FlushDenormals guard;
    EXPECT_EQ(halves(), std::vector<double>(64, small / 2));
  }
  EXPECT_EQ(halves(), before);
}

}  // namespace
}  // namespace kalstream
