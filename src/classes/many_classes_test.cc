#include <gtest/gtest.h>

#include <cmath>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

constexpr std::size_t classes = 20;

constexpr std::size_t inputs = 6;

// A cloud of points for each class.
std::pair<Vector, std::size_t> sample(Rng& rng) {
  const auto y = static_cast<std::size_t>(rng.below(classes));
  Rng centres(100 + y);
  Vector x = test::normals(centres, inputs, 2);
  for (double& v : x) v += 0.7 * rng.normal();
  return {x, y};
}

/// The mean of −ln p of the next samples' classes.
double log_loss(ClassHistory& history, ClassExpert& expert, Rng& rng, int samples) {
  double sum = 0;
  for (int t = 0; t < samples; ++t) {
    const auto [x, y] = sample(rng);
    const Vector p = history.predict_and_learn(expert, x, y);
    EXPECT_TRUE(test::are_probabilities(p));
    sum -= std::log(std::max(p[y], 1e-9));
  }
  return sum / samples;
}

class ManyClasses : public testing::TestWithParam<ClassExpertPlan> {};

TEST_P(ManyClasses, AreLearnt) {
  ClassHistory history(inputs, classes);
  const auto expert = make_class_expert(GetParam(), inputs, classes);
  Rng rng(1);
  log_loss(history, *expert, rng, 1500);
  EXPECT_LT(log_loss(history, *expert, rng, 500), 0.6);  // beside ln 20 = 3.0
}

TEST_P(ManyClasses, GoOnFromTheirStateToTheSameBits) {
  for (const int samples : {0, 7, 60, 333}) {
    ClassHistory history(inputs, classes);
    const auto one = make_class_expert(GetParam(), inputs, classes);
    Rng rng(2);
    log_loss(history, *one, rng, samples);
    const auto two = make_class_expert(GetParam(), inputs, classes);
    test::restore_from(test::state_bytes(*one), *two);
    ClassHistory same = history;
    Rng again = rng;
    EXPECT_EQ(log_loss(history, *one, rng, 80), log_loss(same, *two, again, 80)) << samples;
  }
}

TEST_P(ManyClasses, LearnWhatIsInMemoryWhenTheyStartOver) {
  ClassHistory history(inputs, classes);
  const auto expert = make_class_expert(GetParam(), inputs, classes);
  Rng rng(3);
  log_loss(history, *expert, rng, 1000);
  const auto anew = make_class_expert(GetParam(), inputs, classes);
  anew->start_over(history.past());
  EXPECT_LT(log_loss(history, *anew, rng, 300), 1.2);
}

INSTANTIATE_TEST_SUITE_P(
    , ManyClasses,
    testing::Values(ClassExpertPlan{"softmax", SoftmaxPlan{}},
                    ClassExpertPlan{"softmax_lag2", SoftmaxPlan{.lags = 2}},
                    ClassExpertPlan{"softmax_recent", SoftmaxPlan{.process_noise = 1e-4}},
                    ClassExpertPlan{"kernel",
                                    Kernel{.centres = 64, .memory = 500, .renewal = 500}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kalstream
