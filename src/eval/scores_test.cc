#include "eval/scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schema/dataset.h"

namespace kalstream {
namespace {

Dataset two_targets() {
  Dataset data;
  data.target_names = {"a", "b"};
  data.targets = {9, 9, 1, 10, 3, 10, NAN, NAN};
  return data;
}

TEST(Scores, EachTargetByItself) {
  const Dataset data = two_targets();
  // The first row is not scored, the last has no targets.
  const std::vector<double> squared_error{NAN, 10, 5, NAN};
  const std::vector<double> prediction{0, 0, 2, 13, 5, 9, 1, 1};
  const auto scores = score_targets({data.targets, 2, squared_error, prediction, {}, {}});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_DOUBLE_EQ(scores[0].nse, (1 + 4) / 2.0 / 1);  // 1 and 3 have variance 1
  EXPECT_DOUBLE_EQ(scores[0].rmse, std::sqrt((1 + 4) / 2.0));
  EXPECT_DOUBLE_EQ(scores[0].mae, 1.5);
  EXPECT_TRUE(std::isnan(scores[1].nse)) << "10 and 10 do not vary";
  EXPECT_DOUBLE_EQ(scores[1].rmse, std::sqrt((9 + 1) / 2.0));
  EXPECT_DOUBLE_EQ(scores[1].mae, 2);
  EXPECT_TRUE(std::isnan(scores[0].bounds.coverage));
}

TEST(Scores, OfBoundsWhereThereAreSome) {
  const Dataset data = two_targets();
  const std::vector<double> squared_error{NAN, 0, 0, NAN};
  const std::vector<double> prediction(8, 0);
  const std::vector<double> low{0, 0, 1, 11, NAN, 8, 0, 0};
  const std::vector<double> high{0, 0, 2, 15, NAN, 10, 0, 0};
  const Predicted run{data.targets, 2, squared_error, prediction, low, high};
  const auto scores = score_targets(run);
  EXPECT_EQ(scores[0].bounds.coverage, 1);  // an edge is within; the other row had no bounds
  EXPECT_EQ(scores[0].bounds.mean_width, 1);
  EXPECT_EQ(scores[1].bounds.coverage, 0.5);
  EXPECT_EQ(scores[1].bounds.mean_width, 3);
  const BoundsScore all = score_bounds(run);
  EXPECT_DOUBLE_EQ(all.coverage, 2.0 / 3);
  EXPECT_DOUBLE_EQ(all.mean_width, 7.0 / 3);
  EXPECT_EQ(all.median_width, 2);
}

TEST(Scores, OfNothing) {
  const Dataset data = two_targets();
  const std::vector<double> squared_error(4, NAN);
  const std::vector<double> prediction(8, NAN);
  const Predicted run{data.targets, 2, squared_error, prediction, {}, {}};
  EXPECT_TRUE(std::isnan(score_targets(run)[0].rmse));
  EXPECT_TRUE(std::isnan(score_bounds(run).coverage));
}

}  // namespace
}  // namespace kalstream
