#include "auto/alarm.h"

#include <gtest/gtest.h>

namespace kalstream {
namespace {

// Samples until it rings; 0 if it does not.
std::size_t time_to_ring(Alarm& alarm, double squared_error) {
  for (std::size_t n = 1; n <= 300; ++n)
    if (alarm.rings(squared_error)) return n;
  return 0;
}

TEST(Alarm, ErrorsFarAboveTheUsualMeanAChange) {
  for (const double usual : {1e-6, 1.0}) {
    Alarm alarm;
    EXPECT_EQ(time_to_ring(alarm, usual), 0U);
    Alarm slightly = alarm;
    EXPECT_EQ(time_to_ring(slightly, 3 * usual), 0U);
    const std::size_t needed = time_to_ring(alarm, 20 * usual);
    EXPECT_GT(needed, 1U);
    EXPECT_LT(needed, 16U);
  }
}

TEST(Alarm, ThereIsQuietAfterIt) {
  Alarm alarm;
  EXPECT_EQ(time_to_ring(alarm, 1), 0U);
  EXPECT_NE(time_to_ring(alarm, 100), 0U);
  for (int n = 0; n < 150; ++n) EXPECT_FALSE(alarm.rings(1));
  for (int n = 0; n < 49; ++n) EXPECT_FALSE(alarm.rings(1e6));
}

}  // namespace
}  // namespace kalstream
