#include <gtest/gtest.h>

#include <cmath>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

constexpr std::size_t classes = 20;

// The one whose direction x points to most.
std::size_t sector(const Vector& x) {
  const double turns = std::atan2(x[1], x[0]) / 6.283185307179586 + 0.5;
  return std::min(static_cast<std::size_t>(turns * classes), classes - 1);
}

/// The mean of −ln p of the next samples' classes.
double log_loss(ClassHistory& history, ClassExpert& expert, Rng& rng, int samples) {
  double sum = 0;
  for (int t = 0; t < samples; ++t) {
    const Vector x = test::normals(rng, 2);
    const Vector p = history.predict_and_learn(expert, x, sector(x));
    EXPECT_TRUE(test::are_probabilities(p));
    sum -= std::log(std::max(p[sector(x)], 1e-9));
  }
  return sum / samples;
}

class ManyClasses : public testing::TestWithParam<ClassExpertPlan> {};

TEST_P(ManyClasses, AreLearnt) {
  ClassHistory history(2, classes);
  const auto expert = make_class_expert(GetParam(), 2, classes);
  Rng rng(1);
  log_loss(history, *expert, rng, 1500);
  EXPECT_LT(log_loss(history, *expert, rng, 500), 1.1);  // beside ln 20 = 3.0
}

TEST_P(ManyClasses, GoOnFromTheirStateToTheSameBits) {
  for (const int samples : {0, 7, 60, 333}) {
    ClassHistory history(2, classes);
    const auto one = make_class_expert(GetParam(), 2, classes);
    Rng rng(2);
    log_loss(history, *one, rng, samples);
    const auto two = make_class_expert(GetParam(), 2, classes);
    test::restore_from(test::state_bytes(*one), *two);
    ClassHistory same = history;
    Rng again = rng;
    EXPECT_EQ(log_loss(history, *one, rng, 80), log_loss(same, *two, again, 80)) << samples;
  }
}

TEST_P(ManyClasses, LearnWhatIsInMemoryWhenTheyStartOver) {
  ClassHistory history(2, classes);
  const auto expert = make_class_expert(GetParam(), 2, classes);
  Rng rng(3);
  log_loss(history, *expert, rng, 1000);
  const auto anew = make_class_expert(GetParam(), 2, classes);
  anew->start_over(history.past());
  EXPECT_LT(log_loss(history, *anew, rng, 300), 2.2);
}

INSTANTIATE_TEST_SUITE_P(
    , ManyClasses,
    testing::Values(ClassExpertPlan{"softmax", SoftmaxPlan{}},
                    ClassExpertPlan{"softmax_lag2", SoftmaxPlan{.lags = 2}},
                    ClassExpertPlan{"softmax_recent", SoftmaxPlan{.process_noise = 1e-4}},
                    ClassExpertPlan{"kernel", Kernel{.centres = 64, .memory = 500, .renewal = 500}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kalstream
