#include "eval/hold.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kalstream {
namespace {

TEST(Hold, TheLastValueStandsInAndNothingLooksAhead) {
  Dataset data;
  data.input_names = {"a", "b"};
  data.target_names = {"d"};
  data.inputs = {NAN, 1, 2, NAN, NAN, NAN, 3, 4, NAN, NAN};
  data.targets = {0, 0, 0, 0, 0};
  const auto held = hold_last_inputs(data);
  // The first row lacks a first value and stays as it is, but what it has is remembered.
  EXPECT_TRUE(std::isnan(data.inputs[0]));
  EXPECT_EQ(std::vector(data.inputs.begin() + 1, data.inputs.end()),
            (std::vector<double>{1, 2, 1, 2, 1, 3, 4, 3, 4}));
  EXPECT_EQ(held, (std::vector<std::size_t>{0, 1, 2, 0, 2}));
}

}  // namespace
}  // namespace kalstream
