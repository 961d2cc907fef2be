// Learners under other losses than the squared: what they come to know.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kalstream/learner.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/network_learner.h"
#include "support.h"

namespace kalstream {
namespace {

using test::normals;
using test::Vector;
using Kind = Loss::Kind;

LearnerOptions linear(std::size_t inputs, std::size_t outputs, const Rule& rule, const Loss& loss) {
  LearnerOptions o{.network = test::small_network(inputs, 0, outputs), .rule = rule, .loss = loss};
  o.network.cell = Cell::feedforward;
  o.network.direct = true;
  o.network.output_activation = OutputActivation::identity;
  return o;
}

const Ekf bayes{.initial_covariance = 10, .measurement_noise = 1, .process_noise = 0};

double logistic(double z) { return 1 / (1 + std::exp(-z)); }

// P(1) = logistic(0.5 + 1.5 x₁ − x₂): a linear model under the filter of the exponential family.
TEST(CrossEntropy, ALinearFilterFindsTheProbabilities) {
  const auto learner = make_learner(linear(2, 1, bayes, {Kind::cross_entropy}));
  Rng rng(3);
  double off = 0;
  for (int t = 0; t < 4000; ++t) {
    const Vector x = normals(rng, 2);
    const double p = logistic(0.5 + 1.5 * x[0] - x[1]);
    if (t >= 3000) off += std::abs(learner->predict(x)[0] - p) / 1000;
    learner->learn(x, Vector{rng.uniform() < p ? 1.0 : 0.0});
  }
  EXPECT_LT(off, 0.02);
}

// The same labels as 0/1, and as one of two: softmax of two outputs has twice the freedom and the
// same probabilities, within what the prior on the weights makes of it.
TEST(CrossEntropy, TwoClassesAreTwoOfMany) {
  const auto one = make_learner(linear(1, 1, bayes, {Kind::cross_entropy}));
  const auto two = make_learner(linear(1, 2, bayes, {Kind::cross_entropy}));
  Rng rng(4);
  for (int t = 0; t < 2000; ++t) {
    const Vector x = normals(rng, 1);
    const Vector p = test::copy(two->predict(x));
    EXPECT_NEAR(p[0] + p[1], 1, 1e-12);
    if (t >= 1000) {
      EXPECT_NEAR(one->predict(x)[0], p[1], 0.02);
    }
    const double d = rng.uniform() < logistic(2 * x[0] - 1) ? 1 : 0;
    one->learn(x, Vector{d});
    two->learn(x, Vector{1 - d, d});
  }
}

TEST(CrossEntropy, EveryRuleLearnsClasses) {
  for (const Rule& rule :
       {Rule(Sgd{}), Rule(RmsProp{}), Rule(Adam{.learning_rate = 0.02}), Rule(Ekf{}), Rule(Dekf{}),
        Rule(Iekf{}), Rule(Algorithm1{}), Rule(Algorithm2{})}) {
    LearnerOptions o{
        .network = test::small_network(2, 6, 3), .rule = rule, .loss = {Kind::cross_entropy}};
    const auto learner = make_learner(o);
    Rng rng(5);
    double log_loss = 0;
    for (int t = 0; t < 3000; ++t) {
      const Vector x = normals(rng, 2);
      const std::size_t label = x[0] * x[1] > 0.3 ? 2 : x[0] > 0 ? 1 : 0;
      if (t >= 2000) log_loss -= std::log(learner->predict(x)[label]) / 1000;
      Vector d(3);
      d[label] = 1;
      learner->learn(x, d);
    }
    EXPECT_LT(log_loss, 0.75 * std::log(3.0)) << name_of(rule);
  }
}

// A wrong label among many right ones moves the probability, and does not turn it over.
TEST(CrossEntropy, OneWrongLabelIsNotBelieved) {
  Ekf hasty = bayes;
  hasty.initial_covariance = 100;
  hasty.process_noise = 1e-3;
  const auto learner = make_learner(linear(1, 1, hasty, {Kind::cross_entropy}));
  Rng rng(6);
  for (int t = 0; t < 500; ++t) learner->learn(normals(rng, 1, 0.1), Vector{1});
  EXPECT_GT(learner->predict(Vector{0})[0], 0.99);
  learner->learn(Vector{0}, Vector{0});
  EXPECT_GT(learner->predict(Vector{0})[0], 0.9);
}

TEST(Poisson, ALinearFilterFindsTheMeans) {
  const auto learner = make_learner(linear(1, 1, bayes, {Kind::poisson}));
  Rng rng(7);
  double off = 0;
  for (int t = 0; t < 4000; ++t) {
    const Vector x = normals(rng, 1);
    const double mean = std::exp(1 + 0.8 * x[0]);
    if (t >= 3000) off += std::abs(learner->predict(x)[0] / mean - 1) / 1000;
    double count = 0;
    for (double left = mean; (left += std::log(1 - rng.uniform())) > 0;) ++count;
    learner->learn(x, Vector{count});
  }
  EXPECT_LT(off, 0.03);
}

// One target in ten is far off, always on the same side.
TEST(Huber, IsNotLedAstray) {
  const auto error = [](const Loss& loss) {
    const auto learner = make_learner(linear(1, 1, bayes, loss));
    Rng rng(8);
    double off = 0;
    for (int t = 0; t < 3000; ++t) {
      const Vector x = normals(rng, 1);
      const double level = 0.5 * x[0];
      if (t >= 2000) off += std::abs(learner->predict(x)[0] - level) / 1000;
      learner->learn(x, Vector{level + 0.05 * rng.normal() + (rng.below(10) == 0 ? 5 : 0)});
    }
    return off;
  };
  EXPECT_GT(error({}), 0.4);
  EXPECT_LT(error({Kind::huber, 0.1}), 0.05);
}

// With some process noise: without, a filter's gain falls faster than a loss of so little curvature
// allows.
TEST(Quantile, HoldsItsPartOfTheTargets) {
  Ekf forgetful = bayes;
  forgetful.process_noise = 1e-4;
  for (const Rule& rule : {Rule(forgetful), Rule(Adam{.learning_rate = 0.005})})
    for (const double part : {0.1, 0.5, 0.9}) {
      const auto learner = make_learner(linear(1, 1, rule, {Kind::quantile, 0.05, part}));
      Rng rng(9);
      int below = 0;
      for (int t = 0; t < 6000; ++t) {
        const Vector x = normals(rng, 1);
        const double d = 0.3 * x[0] + 0.5 * rng.normal();
        if (t >= 3000) below += d < learner->predict(x)[0] ? 1 : 0;
        learner->learn(x, Vector{d});
      }
      EXPECT_NEAR(below / 3000.0, part, 0.03) << name_of(rule);
    }
}

// Bits added with carry, as what they are.
TEST(CrossEntropy, AnEkfLearnsBinaryAddition) {
  LearnerOptions o{.network = {.inputs = 2, .hidden = 8},
                   .rule = Ekf{.initial_covariance = 100, .measurement_noise = 1},
                   .loss = {Kind::cross_entropy}};
  const auto learner = make_learner(o);
  Rng rng(10);
  int carry = 0;
  int right = 0;
  int steps = 0;
  for (; right < 500 && steps < 8000; ++steps) {
    const int a = static_cast<int>(rng.below(2));
    const int b = static_cast<int>(rng.below(2));
    const int sum = a + b + carry;
    carry = sum / 2;
    const Vector x{double(a), double(b)};
    const double d = sum % 2;
    right = (learner->predict(x)[0] > 0.5) == (d > 0.5) ? right + 1 : 0;
    learner->learn(x, Vector{d});
  }
  EXPECT_EQ(right, 500) << "after " << steps;
}

// Where it has a link of its own the network's output activation has no say.
TEST(Losses, WithALinkHaveALinearNetwork) {
  LearnerOptions o{.network = test::small_network(2, 3, 2), .rule = Ekf{}, .loss = {Kind::poisson}};
  const auto bounded = make_learner(o);
  o.network.output_activation = OutputActivation::identity;
  const auto identity = make_learner(o);
  const auto stream = test::random_stream(11, 2, 2, 30);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    EXPECT_TRUE(test::same_bits(bounded->predict(stream.x[t]), identity->predict(stream.x[t])));
    for (Learner* one : {bounded.get(), identity.get()}) one->learn(stream.x[t], Vector{1, 5});
  }
}

TEST(Losses, RefuseOtherTargets) {
  const auto learner = make_learner(
      {.network = test::small_network(1, 2, 1), .rule = Ekf{}, .loss = {Kind::cross_entropy}});
  for (const double bad : {-0.5, 1.5})
    EXPECT_EQ(learner->learn(Vector{0}, Vector{bad}).status, StepStatus::rejected_input);
  EXPECT_EQ(learner->samples(), 0U);
}

TEST(Losses, AreSettingsAndAreKeptInSnapshots) {
  LearnerOptions o{.network = test::small_network(1, 2, 1), .rule = Algorithm2{}};
  const auto plain = save(*make_learner(o));
  set_option(o, "loss", "quantile");
  set_option(o, "loss_threshold", "0.125");
  set_option(o, "quantile", "0.75");
  const Loss kept = describe(save(*make_learner(o))).recipe.options.loss;
  EXPECT_EQ(kept.kind, Kind::quantile);
  EXPECT_EQ(kept.threshold, 0.125);
  EXPECT_EQ(kept.quantile, 0.75);
  EXPECT_EQ(describe(plain).recipe.options.loss.kind, Kind::squared);
  // A snapshot under the squared loss is what it has always been.
  const auto text = std::string(reinterpret_cast<const char*>(plain.data()), plain.size());
  EXPECT_EQ(text.find("loss"), std::string::npos);
}

TEST(Losses, AreNotForLearnersThatTakeRawData) {
  for (const Rule& rule : {Rule(Auto{}), Rule(Rls{}), Rule(Naive{})})
    for (const Kind kind : {Kind::cross_entropy, Kind::poisson}) {
      const LearnerOptions o{.network = {}, .rule = rule, .loss = {kind}};
      if (std::holds_alternative<Auto>(rule) && kind == Kind::cross_entropy)
        EXPECT_NO_THROW(o.validate());
      else
        EXPECT_THROW(o.validate(), std::invalid_argument) << name_of(rule);
    }
}

}  // namespace
}  // namespace kalstream
