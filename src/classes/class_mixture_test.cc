#include "classes/class_mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using test::Vector;

/// Probabilities of classes from `experts`, one after the other.
Vector random_opinions(Rng& rng, std::size_t experts, std::size_t classes) {
  Vector said(experts * classes);
  for (double& v : said) v = 0.01 + rng.uniform() * rng.uniform();
  for (std::size_t j = 0; j < experts; ++j)
    normalise(std::span(said).subspan(j * classes, classes));
  return said;
}

TEST(ClassMixture, IsNeverMuchWorseThanAnyExpert) {
  Rng rng(1);
  const std::size_t experts = 5;
  const std::size_t classes = 3;
  const Vector prior{0.4, 0.3, 0.2, 0.09, 0.01};
  ClassMixture mixture(prior);
  Vector losses(experts, 0.0);
  double loss = 0;
  for (int t = 1; t <= 3000; ++t) {
    const Vector said = random_opinions(rng, experts, classes);
    Vector p(classes);
    mixture.predict(said, p);
    // What hurts most: the class that the mixture thinks least of; for long stretches by turns.
    const auto y = t / 100 % 2 == 0
                       ? static_cast<std::size_t>(std::min_element(p.begin(), p.end()) - p.begin())
                       : static_cast<std::size_t>(rng.below(classes));
    loss -= std::log(p[y]);
    mixture.learn(said, classes, y);
    for (std::size_t j = 0; j < experts; ++j) {
      losses[j] -= std::log(said[j * classes + y]);
      ASSERT_LE(loss, losses[j] - std::log(prior[j]) + std::log(t + 1.0) + 1e-9) << t << ' ' << j;
    }
  }
}

// With a least share s, of every sequence of experts with k changes:
// Σ −ln p(y) ≤ its loss + ln(1/prior) for the first and each next expert + k ln(1/s) +
// the price of staying, Σ −ln(1 − share).
TEST(ClassMixture, FollowsAChangeOfTheBestExpert) {
  const double s = 0.01;
  ClassMixture mixture(Vector(3, 1.0 / 3), s);
  double loss = 0;
  double of_best = 0;
  double price = std::log(3.0);
  Rng rng(2);
  for (int t = 1; t <= 900; ++t) {
    const auto best = static_cast<std::size_t>((t - 1) / 300);
    if (t > 1 && (t - 1) % 300 == 0) price += std::log(3.0) - std::log(s);
    const std::size_t y = static_cast<std::size_t>(rng.below(2));
    Vector said(6);
    for (std::size_t j = 0; j < 3; ++j) {
      said[2 * j + y] = j == best ? 0.9 : 0.2;
      said[2 * j + 1 - y] = 1 - said[2 * j + y];
    }
    Vector p(2);
    mixture.predict(said, p);
    loss -= std::log(p[y]);
    of_best -= std::log(said[2 * best + y]);
    mixture.learn(said, 2, y);
    ASSERT_LE(loss, of_best + price + 1e-9) << t;
    price -= std::log(1 - std::max(1.0 / (t + 1), s));
  }
}

// The weights as a posterior: all began anew by the prior at some moment, with the probability that
// its step's share had, and Bayes' rule from there on.
TEST(ClassMixture, WeightsAreThePosteriorOverMomentsOfBeginning) {
  const std::size_t experts = 3;
  const std::size_t classes = 2;
  const Vector prior{0.5, 0.3, 0.2};
  for (const double least : {0.0, 0.05}) {
    Rng rng(3);
    ClassMixture mixture(prior, least);
    std::vector<Vector> probable;  // of step t: p_j(y_t)
    Vector begun{1};               // how probable it is that all began anew after step t
    for (int t = 1; t <= 80; ++t) {
      const Vector said = random_opinions(rng, experts, classes);
      const auto y = static_cast<std::size_t>(rng.below(classes));
      mixture.learn(said, classes, y);
      probable.emplace_back();
      for (std::size_t j = 0; j < experts; ++j) probable.back().push_back(said[j * classes + y]);

      const auto share = [&](std::size_t step) {
        return std::max(1 / (static_cast<double>(step) + 1), least);
      };
      Vector w(experts, 0.0);
      double evidence = 0;  // of all classes so far
      for (std::size_t from = 0; from < begun.size(); ++from)
        for (std::size_t j = 0; j < experts; ++j) {
          double v = begun[from] * prior[j];
          for (std::size_t step = from + 1; step < probable.size() + 1; ++step) {
            v *= probable[step - 1][j];
            if (step == probable.size()) evidence += v;
            v *= 1 - share(step);
          }
          w[j] += v;
        }
      begun.push_back(evidence * share(probable.size()));
      for (std::size_t j = 0; j < experts; ++j) w[j] += begun.back() * prior[j];
      normalise(w);
      ASSERT_TRUE(test::near(mixture.weights(), w, 1e-9)) << t;
      EXPECT_TRUE(test::are_probabilities(mixture.weights()));
    }
  }
}

TEST(ClassMixture, GoesOnFromASnapshot) {
  Rng rng(4);
  ClassMixture mixture(Vector(4, 0.25), 1e-3);
  ClassMixture loaded(Vector(4, 0.25), 1e-3);
  for (int t = 0; t < 100; ++t) {
    if (t % 20 == 0) test::restore_from(test::state_bytes(mixture), loaded);
    const Vector said = random_opinions(rng, 4, 3);
    const auto y = static_cast<std::size_t>(rng.below(3));
    mixture.learn(said, 3, y);
    loaded.learn(said, 3, y);
    ASSERT_TRUE(test::same_bits(loaded.weights(), mixture.weights()));
  }
  mixture.reset();
  EXPECT_TRUE(test::same_bits(mixture.weights(), Vector(4, 0.25)));
}

}  // namespace
}  // namespace kalstream
