#include "classes/auto_classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "classes/calibration.h"
#include "classes/class_mixture.h"
#include "classes/probabilities.h"
#include "core/rng.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

LearnerOptions for_classes(std::size_t inputs, std::size_t classes) {
  return {.network = {.inputs = inputs, .outputs = classes},
          .rule = Auto{},
          .loss = {.kind = Loss::Kind::cross_entropy}};
}

Vector one_hot(std::size_t y, std::size_t n) {
  Vector d(n, 0.0);
  d[y] = 1;
  return d;
}

// Three clouds of points, on scales far apart.
std::pair<Vector, std::size_t> cloud(Rng& rng, std::size_t classes = 3) {
  const auto y = static_cast<std::size_t>(rng.below(classes));
  const auto off = static_cast<double>(y);
  return {{1e6 + 1e3 * (2 * off + rng.normal()), 1e-3 * (off * off + rng.normal())}, y};
}

double mean_loss(Learner& learner, Rng& rng, int samples, std::size_t classes = 3) {
  double loss = 0;
  for (int t = 0; t < samples; ++t) {
    const auto [x, y] = cloud(rng, classes);
    loss -= std::log(learner.predict(x)[y]);
    learner.learn(x, one_hot(y, learner.outputs()));
  }
  return loss / samples;
}

TEST(AutoClassifier, LearnsOnAnyScaleAndIsNotWorseThanItsExperts) {
  const auto made = make_learner(for_classes(2, 3));
  auto& learner = dynamic_cast<AutoClassifier&>(*made);
  Rng rng(3);
  const std::size_t n = learner.candidates().size() / 3;
  Vector losses(n, 0.0);
  double loss = 0;
  for (int t = 1; t <= 600; ++t) {
    const auto [x, y] = cloud(rng);
    const auto p = learner.predict(x);
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-9);
    loss -= std::log(p[y]);
    for (std::size_t j = 0; j < n; ++j) losses[j] -= std::log(learner.candidates()[j * 3 + y]);
    learner.learn(x, one_hot(y, 3));
    // Half of the prior is for the single experts, of which there are n − 3; and the calibration.
    const double best = *std::min_element(losses.begin(), losses.end());
    const double bound = std::log(2.0 * static_cast<double>(n)) + std::log(3.0);
    ASSERT_LE(loss, best + bound + 2 * std::log(t + 1.0)) << t;
  }
  EXPECT_LT(loss / 600, 0.6);
}

TEST(AutoClassifier, GoesOnWithMoreClasses) {
  auto learner = make_learner(for_classes(2, 2));
  Rng rng(4);
  mean_loss(*learner, rng, 300, 2);
  const Vector x = cloud(rng, 2).first;
  const Vector before = test::copy(learner->predict(x));
  auto wider = widened(*learner, 3);
  EXPECT_EQ(wider->outputs(), 3U);
  EXPECT_EQ(wider->samples(), 300U);
  const auto after = wider->predict(x);
  EXPECT_EQ(before[0] > before[1], after[0] > after[1]);
  EXPECT_LT(mean_loss(*wider, rng, 600), 0.7);
  // As it was made by a recipe, it can be saved.
  const auto loaded = load(save(*wider));
  EXPECT_TRUE(test::same_bits(loaded->predict(x), wider->predict(x)));
}

// With many classes there are other experts; what the rest knew and how all were combined stays.
TEST(AutoClassifier, GoesOnWhereManyClassesMakeOthersOfTheExperts) {
  const auto few = make_learner(for_classes(2, 12));
  Rng rng(6);
  const double before = [&] {
    mean_loss(*few, rng, 800, 12);
    return mean_loss(*few, rng, 200, 12);
  }();
  auto many = widened(*few, 13);
  EXPECT_NE(expert_names(few->recipe()->options), expert_names(many->recipe()->options));
  EXPECT_EQ(many->samples(), 1000U);
  EXPECT_LT(mean_loss(*many, rng, 100, 12), before + 0.3);
  const auto loaded = load(save(*many));
  const Vector x = cloud(rng, 13).first;
  EXPECT_TRUE(test::same_bits(loaded->predict(x), many->predict(x)));
}

TEST(AutoClassifier, AllOthersBeginAnewWithMoreClasses) {
  LearnerOptions options = for_classes(2, 2);
  options.rule = Ekf{};
  const auto learner = make_scaled_learner(options);
  const auto wider = widened(*learner, 4);
  EXPECT_EQ(wider->outputs(), 4U);
  EXPECT_EQ(wider->samples(), 0U);
}

TEST(AutoClassifier, TakesProbabilitiesAlone) {
  auto learner = make_learner(for_classes(2, 3));
  EXPECT_EQ(learner->learn(Vector{1, 2}, Vector{0, 2, 0}).status, StepStatus::rejected_input);
  EXPECT_EQ(learner->learn(Vector{1, 2}, Vector{0, 1, 0}).status, StepStatus::applied);
  EXPECT_EQ(learner->samples(), 1U);
}

TEST(AutoClassifier, NamesWhatItWeighs) {
  const LearnerOptions options = for_classes(2, 3);
  const auto learner = make_learner(options);
  EXPECT_EQ(expert_names(options).size(), learner->state().weights.size());
  double sum = 0;
  for (const double w : learner->state().weights) sum += w;
  EXPECT_NEAR(sum, 1, 1e-9);
}

// Without inputs the classes before are what there is.
TEST(AutoClassifier, LearnsASequence) {
  auto learner = make_learner(for_classes(0, 2));
  double right = 0;
  for (int t = 0; t < 400; ++t) {
    const std::size_t y = t / 2 % 2;
    if (t >= 200) right += learner->predict({})[y] > 0.5 ? 1 : 0;
    learner->learn({}, one_hot(y, 2));
  }
  EXPECT_GT(right / 200, 0.95);
}

// Up and down: which of two classes follows is told by the class before the last.
TEST(AutoClassifier, LearnsASequenceOfManyClasses) {
  constexpr std::size_t n = 20;
  auto learner = make_learner(for_classes(0, n));
  double right = 0;
  for (std::size_t t = 0; t < 1200; ++t) {
    const std::size_t turn = t % (2 * n - 2);
    const std::size_t y = turn < n ? turn : 2 * n - 2 - turn;
    if (t >= 1000) right += learner->predict({})[y] > 0.5 ? 1 : 0;
    learner->learn({}, one_hot(y, n));
  }
  EXPECT_GT(right / 200, 0.9);
}

}  // namespace
}  // namespace kalstream
