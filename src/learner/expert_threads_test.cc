// Experts shared by threads: the same results to the last bit, for any number of threads.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "kalstream/learner.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::Vector;

constexpr std::size_t inputs = 3;
constexpr std::size_t outputs = 2;

LearnerOptions options_of(const std::string& name, std::size_t threads) {
  LearnerOptions o{.network = test::small_network(inputs, 5, outputs)};
  if (name == "auto") o.rule = Auto{.experts = 5, .lags = 4, .threads = threads};
  if (name == "alg2") o.rule = Algorithm2{.threads = threads};
  if (name == "alg2 of one error")
    o.rule = Algorithm2{.feedback = Feedback::mixture, .threads = threads};
  return o;
}

/// Everything a learner says of a stream with gaps, a target beyond belief, and a change.
Vector told_by(Learner& learner, std::uint64_t seed = 3, int samples = 140) {
  Rng rng(seed);
  Vector all;
  const auto add = [&](std::span<const double> v) { all.insert(all.end(), v.begin(), v.end()); };
  for (int t = 0; t < samples; ++t) {
    const Vector x = test::normals(rng, inputs);
    const double level = t < 100 ? 0.3 : -0.3;
    Vector d{std::tanh(x[0] - level * x[1]), level * x[2]};
    if (t == 70) d[0] = 1e6;
    if (t == 80) d[1] = std::numeric_limits<double>::quiet_NaN();
    add(learner.predict(x));
    if (t % 7 == 0) add(learner.spread());
    const StepReport report = t % 31 == 30 ? learner.advance(x) : learner.learn(x, d);
    add(Vector{report.covariance_trace, static_cast<double>(report.status),
               static_cast<double>(report.applied), static_cast<double>(report.rejected)});
    add(report.weights);
  }
  learner.start_forecast();
  for (int k = 0; k < 3; ++k) add(learner.forecast_next(test::normals(rng, inputs)));
  return all;
}

class ExpertThreads : public testing::TestWithParam<std::string> {};

TEST_P(ExpertThreads, DoNotChangeResults) {
  const auto alone = make_learner(options_of(GetParam(), 1));
  const Vector expected = told_by(*alone);
  for (const std::size_t threads : {2, 3, 1000}) {
    const auto shared = make_learner(options_of(GetParam(), threads));
    const auto clone = shared->clone();
    EXPECT_TRUE(same_bits(told_by(*shared), expected)) << threads;
    EXPECT_TRUE(same_bits(told_by(*clone), expected)) << threads;
    shared->reset();
    EXPECT_TRUE(same_bits(told_by(*shared), expected)) << threads;
  }
}

TEST_P(ExpertThreads, AreKeptInASnapshot) {
  const auto alone = make_learner(options_of(GetParam(), 1));
  const auto shared = make_learner(options_of(GetParam(), 2));
  told_by(*alone);
  told_by(*shared);
  const auto back = load(save(*shared));
  EXPECT_TRUE(same_bits(told_by(*back, 5, 20), told_by(*alone, 5, 20)));
}

INSTANTIATE_TEST_SUITE_P(All, ExpertThreads, testing::Values("auto", "alg2", "alg2 of one error"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace kalstream
