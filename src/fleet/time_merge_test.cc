#include "fleet/time_merge.h"

#include <string>

namespace kalstream::fleet {
namespace {

using Merge = TimeMerge<std::string>;

std::string all_of(Merge& merge) {
  std::string text;
  while (const auto next = merge.next()) text += next->second;
  return text;
}

TEST(TimeMerge, TakesTheOlderFirst) {
  Merge merge;
  merge.add(1, 1, "b");
  merge.add(1, 3, "d");
  EXPECT_EQ(all_of(merge), "") << "older ones may come on the other side";
  merge.add(0, 0, "a");
  merge.add(0, 2, "c");
  EXPECT_EQ(all_of(merge), "abc");
  merge.at_end(0);
  EXPECT_EQ(all_of(merge), "d");
}

TEST(TimeMerge, KeepsTheOrderOfEachSide) {
  Merge merge;
  for (const int time : {5, 1, 9}) merge.add(0, time, "a");
  for (const int time : {4, 8, 2}) merge.add(1, time, "b");
  merge.at_end(0);
  merge.at_end(1);
  EXPECT_EQ(all_of(merge), "baabba");
}

TEST(TimeMerge, OfTheSameTimeTheFirstSideIsFirst) {
  Merge merge;
  merge.add(1, 7, "label");
  merge.add(0, 7, "sample,");
  merge.at_end(0);
  merge.at_end(1);
  EXPECT_EQ(all_of(merge), "sample,label");
}

TEST(TimeMerge, ALiveStreamIsTakenAsItComes) {
  Merge merge;
  merge.at_end(0);
  merge.at_end(1);
  merge.add(0, 5, "a");
  EXPECT_EQ(all_of(merge), "a");
  merge.add(1, 1, "b");
  EXPECT_EQ(all_of(merge), "") << "the first side has shown that it is alive";
  merge.at_end(0);
  EXPECT_EQ(all_of(merge), "b");
}

}  // namespace
}  // namespace kalstream::fleet
