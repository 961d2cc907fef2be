#include "core/closest.h"

#include <gtest/gtest.h>

#include <vector>

namespace kalstream {
namespace {

const std::vector<std::string> names{"auto", "auto-max", "rmsprop",       "ekf",          "dekf",
                                     "iekf", "ar",       "process_noise", "noise_factor", "target"};

TEST(Closest, FindsWhatASlipHasChanged) {
  EXPECT_EQ(closest("aut", names), "auto");                    // left out
  EXPECT_EQ(closest("rmspropp", names), "rmsprop");            // added
  EXPECT_EQ(closest("proces-noise", names), "process_noise");  // left out and exchanged
  EXPECT_EQ(closest("tagret", names), "target");               // swapped: one slip, not two
  EXPECT_EQ(closest("TARGET", names), "target");               // case
  EXPECT_EQ(closest("ekf", names), "ekf");                     // nothing
  EXPECT_EQ(closest("xekf", names), "ekf");                    // the first of three as near
  EXPECT_EQ(closest("automax", names), "auto-max");
}

TEST(Closest, IsSilentAboutOtherWords) {
  for (const char* other : {"", "x", "lstm", "xx", "temperature", "noise"})
    EXPECT_EQ(closest(other, names), std::nullopt) << other;
  EXPECT_EQ(closest("auto", {}), std::nullopt);
}

TEST(Closest, EndsAComplaint) {
  EXPECT_EQ(did_you_mean("efk", names), "; did you mean 'ekf'?");
  EXPECT_EQ(did_you_mean("lstm", names), "");
}

}  // namespace
}  // namespace kalstream
