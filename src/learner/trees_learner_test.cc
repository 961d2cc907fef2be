#include "learner/trees_learner.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

double target(const Vector& x) { return 1e6 + 50 * ((x[0] > 3 ? 1 : 0) + (x[1] > 0 ? 2 : 0)); }

// Of raw data, whatever their units.
TEST(TreesLearner, LearnsRawData) {
  TreesLearner learner(2, 1, Trees{}, 1);
  Rng rng(1);
  double error = 0;
  for (int t = 0; t < 2500; ++t) {
    const Vector x{rng.uniform(0, 6), rng.uniform(-1e-3, 1e-3)};
    const Vector d{target(x) + rng.normal()};
    const double e = d[0] - learner.predict(x)[0];
    if (t >= 2000) error += e * e / 500;
    EXPECT_EQ(learner.learn(x, d).status, StepStatus::applied);
  }
  EXPECT_LT(error, 40);  // beside a variance of 3,125 and noise of 1
}

TEST(TreesLearner, ASampleWithoutTargetTeachesNothing) {
  TreesLearner learner(1, 1, Trees{}, 1);
  Rng rng(2);
  for (int t = 0; t < 40; ++t) learner.learn(test::normals(rng, 1), test::normals(rng, 1));
  const double before = learner.predict(Vector{0.5})[0];
  learner.advance(Vector{0.5});
  EXPECT_EQ(learner.predict(Vector{0.5})[0], before);
  EXPECT_EQ(learner.samples(), 41U);
}

}  // namespace
}  // namespace kalstream
