#include <gtest/gtest.h>

#include <cmath>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

/// The 16 nearest of the last 1,000 samples by sorting all of them; of equally near ones the newer.
Vector by_sorting(const ClassHistory& history, const Vector& x, std::size_t classes) {
  struct Neighbour {
    double distance = 0;  // squared, in deviations
    std::size_t label;
  };
  const auto [memory, scale] = history.past();
  std::vector<Neighbour> all;
  for (std::size_t age = 1; age <= std::min<std::size_t>(memory.size(), 1000); ++age) {
    const std::size_t at = memory.place(age);
    Neighbour one{.label = memory.label(at)};
    for (std::size_t i = 0; i < x.size(); ++i)
      one.distance += std::pow((memory.x(at)[i] - x[i]) / scale.deviation(i), 2);
    all.push_back(one);
  }
  std::ranges::stable_sort(all, {}, &Neighbour::distance);
  all.resize(std::min<std::size_t>(all.size(), 16));
  Vector p(classes, 0.5 / static_cast<double>(classes));
  for (const Neighbour& one : all) {
    const double width = std::max(all[all.size() / 2].distance, 1e-6);
    p[one.label] += std::exp(-0.5 * one.distance / width);
  }
  normalise(p);
  return p;
}

TEST(Neighbours, AreThoseThatSortingFinds) {
  for (const std::size_t inputs : {1, 3})
    for (const std::size_t classes : {2, 4})
      for (const bool lattice : {false, true}) {  // whole numbers: many are equally near
        Rng rng(inputs + classes);
        ClassHistory history(inputs, classes);
        const auto expert = make_class_expert(NeighboursPlan{}, inputs, classes);
        for (std::size_t t = 0; t < 2300; ++t) {
          Vector x = test::normals(rng, inputs, 2);
          if (lattice)
            for (double& v : x) v = std::round(v);
          if (t < 40 || t % 50 == 0) {
            ASSERT_TRUE(
                test::near(history.predict(*expert, x), by_sorting(history, x, classes), 1e-9))
                << t;
          }
          history.learn(*expert, x, static_cast<std::size_t>(rng.below(classes)));
        }
      }
}

TEST(Neighbours, AreEvenWhereThereAreNone) {
  ClassHistory history(2, 4);
  const auto expert = make_class_expert(NeighboursPlan{}, 2, 4);
  EXPECT_EQ(history.predict(*expert, {1, 2}), Vector(4, 0.25));
}

// Powers of two, so that no product is rounded.
TEST(Neighbours, DoNotDependOnUnits) {
  Rng rng(1);
  ClassHistory plain(2, 2);
  ClassHistory scaled(2, 2);
  const auto expert = make_class_expert(NeighboursPlan{}, 2, 2);
  for (int t = 0; t < 300; ++t) {
    const Vector x = test::normals(rng, 2);
    const Vector in_units{std::ldexp(x[0], 30), std::ldexp(x[1], -20)};
    if (t == 100) {
      plain.scale().hold();
      scaled.scale().hold();
    }
    if (t >= 100) {
      ASSERT_TRUE(test::near(scaled.predict(*expert, in_units), plain.predict(*expert, x), 1e-12));
    }
    const auto y = static_cast<std::size_t>(rng.below(2));
    plain.learn(*expert, x, y);
    scaled.learn(*expert, in_units, y);
  }
}

}  // namespace
}  // namespace kalstream
