// make_scaled: what the inner learner is told, and what that means for raw data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "learner/parts.h"
#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::near;
using test::Stream;
using test::Vector;

/// An inner learner that remembers what it was told and predicts a fixed value.
class Spy final : public Learner {
 public:
  struct Log {
    std::vector<Vector> x;
    std::vector<Vector> d;
    StepStatus answer = StepStatus::applied;
  };
  Spy(Log& log, std::size_t inputs, Vector prediction)
      : log_(&log), inputs_(inputs), prediction_(std::move(prediction)) {}

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return prediction_.size(); }
  std::uint64_t samples() const override { return log_->x.size(); }
  LearnerState state() const override { return {}; }
  std::span<const double> predict(std::span<const double>) override { return prediction_; }
  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    log_->x.push_back(copy(x));
    log_->d.push_back(copy(d));
    return {.status = log_->answer, .weights = {}};
  }
  StepReport advance(std::span<const double> x) override {
    log_->x.push_back(copy(x));
    return {.status = StepStatus::missing, .weights = {}};
  }
  void start_forecast() override {}
  std::span<const double> forecast_next(std::span<const double> x) override {
    log_->x.push_back(copy(x));
    return prediction_;
  }
  std::unique_ptr<Learner> clone() const override { return std::make_unique<Spy>(*this); }
  void reset() override {}
  void exchange(Archive&) override {}

 private:
  Log* log_;
  std::size_t inputs_;
  Vector prediction_;
};

// Mean and deviation in two passes, straight from the definition.
struct Moments {
  explicit Moments(const Vector& v) {
    for (const double a : v) mean += a / static_cast<double>(v.size());
    for (const double a : v) deviation += (a - mean) * (a - mean) / static_cast<double>(v.size());
    deviation = std::sqrt(deviation);
  }
  double mean = 0;
  double deviation = 0;
};

constexpr double tanh_unit = 3 / 0.8;  // three deviations reach ±0.8

class ScaledOutputs : public testing::TestWithParam<OutputActivation> {
 protected:
  const OutputActivation activation = GetParam();
  const bool bounded = activation == OutputActivation::tanh;
  const double unit = bounded ? tanh_unit : 1;
};

// x' uses moments up to and including x; d' and d̂ those of the targets before.
TEST_P(ScaledOutputs, InnerLearnerSeesStandardisedData) {
  Spy::Log log;
  const auto scaled = make_scaled(std::make_unique<Spy>(log, 1, Vector{0.25}), activation);
  Rng rng(31);
  Vector xs, ds;
  for (int t = 0; t < 200; ++t) {
    const double x = 40 + 7 * rng.normal();
    const double d = -300 + 20 * rng.normal();
    xs.push_back(x);
    const Moments past(ds);
    const double d_hat = scaled->predict(Vector{x})[0];
    if (t >= 2) {
      EXPECT_NEAR(d_hat, past.mean + 0.25 * unit * past.deviation, 1e-10);
    }
    if (t % 10 == 7) {
      EXPECT_EQ(scaled->advance(Vector{x}).status, StepStatus::missing);
    } else {
      EXPECT_EQ(scaled->learn(Vector{x}, Vector{d}).status, StepStatus::applied);
      if (t >= 2) {
        double expected = (d - past.mean) / (unit * past.deviation);
        if (bounded) expected = std::clamp(expected, -1.0, 1.0);
        EXPECT_NEAR(log.d.back()[0], expected, 1e-11 * std::max(1.0, std::abs(expected))) << t;
      }
      ds.push_back(d);
    }
    const Moments with_x(xs);
    if (t >= 1) {
      EXPECT_NEAR(log.x.back()[0], (x - with_x.mean) / with_x.deviation, 1e-11) << t;
    }
  }
  for (const double sign : {1.0, -1.0}) {  // a tanh output cannot reach further than ±1
    scaled->learn(Vector{40}, Vector{sign * 1e5});
    if (bounded) {
      EXPECT_EQ(log.d.back()[0], sign);
    }
  }
}

TEST_P(ScaledOutputs, EachInputAndOutputHasItsOwnScale) {
  Spy::Log log;
  const auto scaled = make_scaled(std::make_unique<Spy>(log, 2, Vector{0.25, -0.5}), activation);
  Rng rng(32);
  Vector x0, x1, d0, d1;
  for (int t = 0; t < 50; ++t) {
    x0.push_back(rng.normal());
    x1.push_back(1e6 + 1e3 * rng.normal());
    d0.push_back(1e-3 * rng.normal());
    d1.push_back(5 + rng.normal());
    scaled->learn(Vector{x0.back(), x1.back()}, Vector{d0.back(), d1.back()});
  }
  EXPECT_NEAR(log.x.back()[0], (x0.back() - Moments(x0).mean) / Moments(x0).deviation, 1e-11);
  EXPECT_NEAR(log.x.back()[1], (x1.back() - Moments(x1).mean) / Moments(x1).deviation, 1e-9);
  const Vector d_hat = copy(scaled->predict(Vector{0, 0}));
  EXPECT_NEAR(d_hat[0], Moments(d0).mean + 0.25 * unit * Moments(d0).deviation, 1e-14);
  EXPECT_NEAR(d_hat[1], Moments(d1).mean - 0.5 * unit * Moments(d1).deviation, 1e-11);
  Vector ahead(4);
  EXPECT_TRUE(scaled->forecast(2, Vector(4), ahead));
  EXPECT_TRUE(test::same_bits(std::span(ahead).first(2), d_hat));
  EXPECT_TRUE(test::same_bits(std::span(ahead).last(2), d_hat));
}

// Lags are in the units of the targets before them, whatever they are: those of d̂.
TEST_P(ScaledOutputs, PastTargetsAreStandardisedAsTargets) {
  Spy::Log log;
  const auto scaled =
      make_scaled(std::make_unique<Spy>(log, 1 + 2 * 2, Vector{0, 0}), activation, 2);
  Rng rng(37);
  Vector x, d0, d1;
  const auto expect_seen = [&](const Vector& seen, double now) {
    const Moments mx(x), m0(d0), m1(d1);
    EXPECT_NEAR(seen[0], (now - mx.mean) / mx.deviation, 1e-10);
    for (const int lag : {1, 2}) {
      EXPECT_NEAR(seen[2 * lag - 1], (d0.end()[-lag] - m0.mean) / m0.deviation, 1e-10);
      EXPECT_NEAR(seen[2 * lag], (d1.end()[-lag] - m1.mean) / m1.deviation, 1e-10);
    }
  };
  const auto row = [&](double now) {
    return Vector{now, d0.end()[-1], d1.end()[-1], d0.end()[-2], d1.end()[-2]};
  };
  for (int t = 0; t < 50; ++t) {
    x.push_back(3 + rng.normal());
    const Vector d{100 + rng.normal(), -1e-3 * rng.normal()};
    scaled->learn(t < 2 ? Vector{x.back(), 0, 0, 0, 0} : row(x.back()), d);
    if (t >= 2) expect_seen(log.x.back(), x.back());
    d0.push_back(d[0]);
    d1.push_back(d[1]);
  }
  scaled->start_forecast();
  scaled->forecast_next(row(4));
  expect_seen(log.x.back(), 4);
}

// A sample the inner learner cannot use is not counted; an update it rejects is.
TEST_P(ScaledOutputs, MomentsFollowTheInnerLearner) {
  Spy::Log log;
  const auto scaled = make_scaled(std::make_unique<Spy>(log, 1, Vector{0.5}), activation);
  for (const double v : {1.0, 2.0, 4.0}) scaled->learn(Vector{v}, Vector{v});
  const double before = scaled->predict(Vector{0})[0];
  log.answer = StepStatus::rejected_input;
  scaled->learn(Vector{5}, Vector{5});
  EXPECT_EQ(scaled->predict(Vector{0})[0], before);
  log.answer = StepStatus::rejected_non_finite;
  scaled->learn(Vector{5}, Vector{5});
  const Moments moments({1, 2, 4, 5});
  EXPECT_NEAR(scaled->predict(Vector{0})[0], moments.mean + 0.5 * unit * moments.deviation, 1e-11);
}

TEST_P(ScaledOutputs, ConstantDataAreNoTrouble) {
  Spy::Log log;
  const auto scaled = make_scaled(std::make_unique<Spy>(log, 1, Vector{0.5}), activation);
  for (int t = 0; t < 100; ++t) {
    scaled->learn(Vector{0.1}, Vector{0.3});
    EXPECT_NEAR(log.x.back()[0], 0, 1e-12);
    EXPECT_NEAR(log.d.back()[0], 0, t == 0 ? 1 : 1e-12);
    EXPECT_TRUE(std::isfinite(scaled->predict(Vector{0.1})[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, ScaledOutputs,
                         testing::Values(OutputActivation::tanh, OutputActivation::identity),
                         [](const auto& one) {
                           return one.param == OutputActivation::tanh ? "tanh" : "identity";
                         });

std::unique_ptr<Learner> make(const Rule& rule, OutputActivation activation) {
  auto network = test::small_network(2, 3, 1);
  network.output_activation = activation;
  return make_scaled(make_learner({network, rule}), activation);
}

// Predictions for a·x + b, c·d + e.
std::vector<Vector> predictions(Learner& learner, const Stream& stream, double a, double b,
                                double c, double e) {
  std::vector<Vector> all;
  for (std::size_t t = 0; t < stream.size(); ++t) {
    Vector x = stream.x[t];
    Vector d = stream.d[t];
    for (double& v : x) v = a * v + b;
    for (double& v : d) v = c * v + e;
    all.push_back(copy(learner.predict(x)));
    learner.learn(x, d);
  }
  return all;
}

// Rounding in the moments, amplified by 200 steps of learning.
constexpr double invariance_tolerance = 1e-9;

class ScaledRules : public testing::TestWithParam<std::pair<std::string, Rule>> {};

TEST_P(ScaledRules, UnitsOfTheInputsDoNotMatter) {
  const auto stream = test::random_stream(33, 2, 1, 200);
  for (const auto activation : {OutputActivation::tanh, OutputActivation::identity}) {
    const auto plain = predictions(*make(GetParam().second, activation), stream, 1, 0, 1, 0);
    for (const auto& [a, b] :
         {std::pair(1e-3, 0.0), std::pair(250.0, -40.0), std::pair(1.0, 3.0)}) {
      const auto other = predictions(*make(GetParam().second, activation), stream, a, b, 1, 0);
      for (std::size_t t = 0; t < stream.size(); ++t)
        ASSERT_TRUE(near(other[t], plain[t], invariance_tolerance))
            << a << "x + " << b << ", " << t;
    }
  }
}

// From the third sample on: two targets have to be seen before there is a scale.
TEST_P(ScaledRules, UnitsOfTheTargetsDoNotMatter) {
  const auto stream = test::random_stream(34, 2, 1, 200);
  for (const auto activation : {OutputActivation::tanh, OutputActivation::identity}) {
    const auto plain = predictions(*make(GetParam().second, activation), stream, 1, 0, 1, 0);
    for (const auto& [c, e] : {std::pair(1e-3, 0.0), std::pair(80.0, 0.0), std::pair(1.0, 7.0)}) {
      const auto other = predictions(*make(GetParam().second, activation), stream, 1, 0, c, e);
      for (std::size_t t = 2; t < stream.size(); ++t)
        ASSERT_NEAR((other[t][0] - e) / c, plain[t][0],
                    invariance_tolerance * (1 + std::abs(e / c)))
            << c << "d + " << e << ", " << t;
    }
  }
}

// One wild sample in a thousand, in an input or in a target: what is learnt before and after it
// must not be lost. The mean squared error over the clean samples after it stays below the
// variance of the targets, and within three times what it is without the wild sample.
TEST_P(ScaledRules, OneWildSampleDoesNotSpoilTheRest) {
  constexpr std::size_t length = 2000;
  constexpr std::size_t wild = 500;
  const auto clean = test::random_stream(35, 2, 1, length);
  double variance = 0;
  for (const Vector& d : clean.d) variance += d[0] * d[0] / length;
  const auto error_after = [&](const Stream& stream) {
    const auto learner = make(GetParam().second, OutputActivation::tanh);
    double sum = 0;
    for (std::size_t t = 0; t < length; ++t) {
      const double e = stream.d[t][0] - learner->predict(stream.x[t])[0];
      if (t > wild) sum += e * e / static_cast<double>(length - wild - 1);
      learner->learn(stream.x[t], stream.d[t]);
    }
    return sum;
  };
  const double undisturbed = error_after(clean);
  EXPECT_LT(undisturbed, variance);
  for (const double size : {1e2, 1e4, 1e8, 1e200})
    for (const bool in_target : {false, true}) {
      Stream stream = clean;
      (in_target ? stream.d : stream.x)[wild][0] = size;
      const double error = error_after(stream);
      EXPECT_LT(error, variance) << (in_target ? "d = " : "x = ") << size;
      EXPECT_LT(error, 3 * undisturbed) << (in_target ? "d = " : "x = ") << size;
    }
}

// Causality: what comes later changes nothing before, to the last bit.
TEST_P(ScaledRules, LaterSamplesDoNotReachBack) {
  const auto stream = test::random_stream(36, 2, 1, 60);
  const auto expected =
      predictions(*make(GetParam().second, OutputActivation::tanh), stream, 1, 0, 1, 0);
  for (const std::size_t t : {0, 1, 2, 30}) {
    Stream changed = stream;
    for (std::size_t s = t; s < stream.size(); ++s) {
      changed.d[s][0] += 1e3;
      if (s > t) changed.x[s][0] *= -1e3;
    }
    const auto seen =
        predictions(*make(GetParam().second, OutputActivation::tanh), changed, 1, 0, 1, 0);
    for (std::size_t s = 0; s <= t; ++s) ASSERT_TRUE(test::same_bits(seen[s], expected[s])) << s;
    EXPECT_FALSE(test::same_bits(seen[t + 1], expected[t + 1]));
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, ScaledRules,
                         testing::Values(std::pair<std::string, Rule>("adam", Adam{}),
                                         std::pair<std::string, Rule>("dekf", Dekf{}),
                                         std::pair<std::string, Rule>("algorithm2", Algorithm2{})),
                         [](const auto& one) { return one.param.first; });

}  // namespace
}  // namespace kalstream
