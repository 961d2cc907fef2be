#include "schema/dataset.h"

#include <gtest/gtest.h>

namespace kalstream {
namespace {

Dataset rows(const std::vector<double>& targets) {
  Dataset data;
  data.input_names = {"x"};
  data.target_names = {"price"};
  data.targets = targets;
  data.inputs.assign(targets.size(), 1.0);
  return data;
}

TEST(RemarkOnOrder, IsMadeOfRowsSortedByTheirTarget) {
  std::vector<double> rising;
  for (int t = 0; t < 60; ++t) rising.push_back(t / 3);
  EXPECT_TRUE(remark_on_order(rows(rising)).starts_with("the rows are sorted by price: "));
  EXPECT_FALSE(remark_on_order(rows({rising.rbegin(), rising.rend()})).empty());
  std::vector<double> other = rising;
  std::swap(other[3], other[40]);
  EXPECT_EQ(remark_on_order(rows(other)), "");
  EXPECT_EQ(remark_on_order(rows({1, 2, 3})), "") << "too few";
  EXPECT_EQ(remark_on_order(rows(std::vector<double>(60, 2.0))), "") << "all the same";
}

TEST(RemarkOnOrder, IsNotMadeWhereTimesTellTheOrder) {
  std::vector<double> rising;
  for (int t = 0; t < 60; ++t) rising.push_back(t);
  Dataset data = rows(rising);
  data.times.assign(60, "2026-01-01");
  EXPECT_EQ(remark_on_order(data), "");
}

TEST(RemarkOnOrder, IsMadeOfClassesOneAfterTheOther) {
  Dataset data = rows(std::vector<double>(60, 0.0));
  data.classes.assign(30, "setosa");
  data.classes.resize(60, "versicolor");
  EXPECT_FALSE(remark_on_order(data).empty());
  data.classes.back() = "setosa";
  EXPECT_EQ(remark_on_order(data), "");
}

}  // namespace
}  // namespace kalstream
