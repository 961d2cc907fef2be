#include "classes/class_memory.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "classes/class_test_support.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

using test::Vector;

// Against a deque that keeps all samples, across the point where the oldest are overwritten.
TEST(ClassMemory, HoldsTheNewestSamples) {
  Rng rng(1);
  ClassMemory memory(2);
  std::deque<std::pair<Vector, std::size_t>> all;
  for (std::size_t t = 1; t <= 2 * std::size_t{constants::class_memory} + 7; ++t) {
    all.emplace_front(test::normals(rng, 2), static_cast<std::size_t>(rng.below(3)));
    memory.push(all.front().first, all.front().second);
    ASSERT_EQ(memory.count(), t);
    ASSERT_EQ(memory.size(), std::min(t, std::size_t{constants::class_memory}));
    if (t % 500 != 7) continue;
    for (std::size_t age = 1; age <= memory.size(); ++age) {
      const std::size_t at = memory.place(age);
      ASSERT_TRUE(test::same_bits(memory.x(at), all[age - 1].first)) << age;
      ASSERT_EQ(memory.label(at), all[age - 1].second) << age;
    }
  }
  memory.reset();
  EXPECT_EQ(memory.size(), 0U);
}

TEST(ClassMemory, ComesBackFromASnapshot) {
  Rng rng(2);
  for (const std::size_t samples :
       {std::size_t{0}, std::size_t{5}, std::size_t{constants::class_memory} + 5}) {
    ClassMemory memory(2);
    for (std::size_t t = 0; t < samples; ++t)
      memory.push(test::normals(rng, 2), static_cast<std::size_t>(rng.below(3)));
    std::vector<std::byte> bytes;
    Archive to(bytes);
    memory.exchange(to, 3);
    ClassMemory loaded(2);
    Archive from(std::span<const std::byte>{bytes});
    loaded.exchange(from, 3);
    ASSERT_EQ(loaded.count(), memory.count());
    for (std::size_t age = 1; age <= memory.size(); ++age) {
      ASSERT_TRUE(test::same_bits(loaded.x(loaded.place(age)), memory.x(memory.place(age))));
      ASSERT_EQ(loaded.label(loaded.place(age)), memory.label(memory.place(age)));
    }
  }
}

TEST(ClassMemory, RefusesASnapshotWithClassesThatDoNotExist) {
  ClassMemory memory(1);
  memory.push(Vector{1}, 2);
  std::vector<std::byte> bytes;
  Archive to(bytes);
  memory.exchange(to, 3);
  ClassMemory narrower(1);
  Archive from(std::span<const std::byte>{bytes});
  EXPECT_THROW(narrower.exchange(from, 2), SnapshotError);
}

TEST(LabelCode, ShowsTwoClassesByASignAndMoreByOneNumberEach) {
  const auto code = [](std::size_t classes, std::size_t y) {
    Vector v(LabelCode{classes}.size(), 7.0);
    LabelCode{classes}.write(y, v);
    return v;
  };
  EXPECT_EQ(code(2, 0), Vector{-1});
  EXPECT_EQ(code(2, 1), Vector{1});
  EXPECT_EQ(code(2, no_class), Vector{0});
  EXPECT_EQ(code(3, 0), (Vector{1, 0, 0}));
  EXPECT_EQ(code(3, 2), (Vector{0, 0, 1}));
  EXPECT_EQ(code(3, no_class), (Vector{0, 0, 0}));
}

TEST(SeeInputs, StandardisesAndCutsOff) {
  HeldMoments scale(1);
  for (int t = 0; t < 1000; ++t) scale.add(Vector{t % 2 == 0 ? 90.0 : 110.0});
  scale.hold();
  EXPECT_NEAR(scale.mean(0), 100, 0.1);
  EXPECT_NEAR(scale.deviation(0), 10, 0.1);
  const auto seen = [&](double x) {
    Vector v(1);
    see_inputs(scale, Vector{x}, v);
    return v[0];
  };
  EXPECT_EQ(seen(115), scale.standardised(0, 115));
  EXPECT_EQ(seen(1e3), 10);
  EXPECT_EQ(seen(-1e3), -10);
  EXPECT_EQ(seen(1e6), 0);  // more than Scale::wildest_input deviations away: taken for no value
}

}  // namespace
}  // namespace kalstream
