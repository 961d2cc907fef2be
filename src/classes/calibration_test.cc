#include "classes/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using test::Vector;

/// Probabilities that are told where these are true.
using Distortion = std::function<void(Vector& p)>;

void power(Vector& p, double exponent) {
  for (double& v : p) v = std::pow(v, exponent);
  normalise(p);
}

struct CalibrationRun {
  double told = 0;  // losses per sample, of the second half
  double calibrated = 0;
  double best = 0;   // of the true probabilities
  double error = 0;  // root mean square of calibrated − true, of the second half
};

/// Classes come with random probabilities, which are told distorted. Holds the calibration to its
/// bound at every moment: at most ln 3 + ln(T + 1) nats more than without it.
CalibrationRun calibrate(std::size_t classes, const Distortion& distort, int samples = 4000) {
  Rng rng(2);
  Calibration calibration(classes);
  CalibrationRun run;
  double of_told = 0;
  double of_calibrated = 0;
  for (int t = 1; t <= samples; ++t) {
    Vector truth = test::normals(rng, classes);
    softmax(truth);
    double u = rng.uniform();
    std::size_t y = 0;
    while (y + 1 < classes && (u -= truth[y]) > 0) ++y;
    Vector p = truth;
    distort(p);
    of_told -= std::log(p[y]);
    const double told = -std::log(p[y]);
    calibration.predict(p);
    EXPECT_TRUE(test::are_probabilities(p));
    of_calibrated -= std::log(p[y]);
    EXPECT_LE(of_calibrated, of_told + std::log(3.0) + std::log(t + 1.0) + 1e-9) << t;
    calibration.learn(y);
    if (t <= samples / 2) continue;
    const double share = 2.0 / samples;
    run.told += share * told;
    run.calibrated -= share * std::log(p[y]);
    run.best -= share * std::log(truth[y]);
    for (std::size_t k = 0; k < classes; ++k)
      run.error += share / static_cast<double>(classes) * std::pow(p[k] - truth[k], 2);
  }
  run.error = std::sqrt(run.error);
  return run;
}

// Of the exponent β = 1/3 of p, the Fisher information of n samples is n E[p(1 − p) z²] with the
// log odds z that are told, here n·3.6: after 2,000 to 4,000 samples β is known to ±0.01, and
// p = 0.7 to ±0.008; four times that is allowed. So wrong probabilities cost
// E[(p − truth)²/(2 p(1 − p))], at most 0.003; four standard errors of the mean over 2,000 samples
// of the difference to the true ones, 0.0007 each, come on top.
TEST(Calibration, MakesDistortedProbabilitiesTrue) {
  for (const std::size_t classes : {2, 3})
    for (const double exponent : {3.0, 0.3}) {
      const auto run = calibrate(classes, [&](Vector& p) { power(p, exponent); });
      EXPECT_LT(run.error, 0.03);
      EXPECT_LT(run.calibrated, run.best + 0.006);
      EXPECT_GT(run.told, run.best + 0.05);  // there was something to do
    }
}

// No power of what is told is true: odds of 3 : 1 are told as 3.3 : 1, odds of 9 : 1 as 125 : 1.
// The curve has eleven numbers to learn where a power has one: √11 times the error, and 11 times
// the cost.
TEST(Calibration, FollowsACurve) {
  const auto run = calibrate(2, [&](Vector& p) {
    const double z = std::log(p[1] / p[0]);
    p[1] = 1 / (1 + std::exp(-z * std::abs(z)));
    p[0] = 1 - p[1];
  });
  EXPECT_LT(run.error, 0.1);
  EXPECT_LT(run.calibrated, run.best + 0.033);
  EXPECT_LT(run.calibrated - run.best, 0.25 * (run.told - run.best));
}

TEST(Calibration, LeavesTrueProbabilitiesAsTheyAre) {
  for (const std::size_t classes : {2, 4}) {
    const auto run = calibrate(classes, [](Vector&) {});
    EXPECT_LT(run.error, 0.02);
  }
}

TEST(Calibration, KeepsWhatItKnowsWithMoreClasses) {
  Rng rng(3);
  Calibration calibration(2);
  const auto told = [](double truth) {
    Vector p{1 - truth, truth};
    power(p, 3);
    return p;
  };
  for (int t = 0; t < 3000; ++t) {
    const double truth = rng.uniform(0.1, 0.9);
    Vector p = told(truth);
    calibration.predict(p);
    calibration.learn(rng.uniform() < truth ? 1 : 0);
  }
  calibration.widen(3);
  Vector p{0, 0, 0.001};
  for (std::size_t k = 0; k < 2; ++k) p[k] = 0.999 * told(0.7)[k];
  calibration.predict(p);
  EXPECT_TRUE(test::are_probabilities(p));
  EXPECT_NEAR(p[1] / (p[0] + p[1]), 0.7, 0.032);  // told: 0.93; four standard errors, as above
}

TEST(Calibration, GoesOnFromASnapshot) {
  Rng rng(4);
  Calibration calibration(3);
  Calibration loaded(3);
  for (int t = 0; t < 200; ++t) {
    if (t % 50 == 0) test::restore_from(test::state_bytes(calibration), loaded);
    Vector p = test::normals(rng, 3, 2);
    softmax(p);
    Vector q = p;
    calibration.predict(p);
    loaded.predict(q);
    ASSERT_TRUE(test::same_bits(q, p));
    const auto y = static_cast<std::size_t>(rng.below(3));
    calibration.learn(y);
    loaded.learn(y);
  }
}

}  // namespace
}  // namespace kalstream
