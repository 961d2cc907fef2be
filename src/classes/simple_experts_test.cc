// Counts of classes against the formulas that they stand for, taken over all samples each time.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

/// (n_k + ½)/(n + classes/2)
Vector share_of(const std::vector<std::size_t>& labels, std::size_t classes) {
  Vector p(classes, 0.5);
  for (const std::size_t y : labels) p[y] += 1;
  normalise(p);
  return p;
}

std::size_t draw(Rng& rng, std::size_t classes) {  // the first classes more often
  return static_cast<std::size_t>(std::min(rng.below(classes), rng.below(classes)));
}

TEST(Frequencies, AreCountsWithHalfASampleForEachClass) {
  for (const std::size_t classes : {2, 5}) {
    Rng rng(classes);
    ClassHistory history(0, classes);
    const auto expert = make_class_expert(FrequenciesPlan{}, 0, classes);
    std::vector<std::size_t> labels;
    for (int t = 0; t < 300; ++t) {
      ASSERT_TRUE(test::near(history.predict(*expert, {}), share_of(labels, classes), 1e-12));
      labels.push_back(draw(rng, classes));
      history.learn(*expert, {}, labels.back());
    }
  }
}

// The loss of these estimates exceeds that of the best constant probabilities by at most
// ln [Γ(n + K/2) Γ(1/2) / (Γ(K/2) Γ(n + 1/2))], for every sequence of K classes (Krichevsky and
// Trofimov 1981; Xie and Barron 2000).
TEST(Frequencies, AreNeverFarFromTheBestConstantProbabilities) {
  for (const std::size_t classes : {2, 4})
    for (const int kind : {0, 1, 2}) {
      Rng rng(3);
      ClassHistory history(0, classes);
      const auto expert = make_class_expert(FrequenciesPlan{}, 0, classes);
      Vector counts(classes, 0.0);
      double loss = 0;
      for (int n = 1; n <= 1000; ++n) {
        const Vector p = history.predict(*expert, {});
        const std::size_t y =
            kind == 0 ? 0  // the worst case: always the same
            : kind == 1
                ? draw(rng, classes)
                : static_cast<std::size_t>(std::min_element(p.begin(), p.end()) - p.begin());
        loss -= std::log(p[y]);
        history.learn(*expert, {}, y);
        counts[y] += 1;
        double best = 0;
        for (const double c : counts) best -= c > 0 ? c * std::log(c / n) : 0;
        const auto half = static_cast<double>(classes) / 2;
        const double bound =
            std::lgamma(n + half) + std::lgamma(0.5) - std::lgamma(half) - std::lgamma(n + 0.5);
        ASSERT_LE(loss, best + bound + 1e-9) << n;
      }
    }
}

TEST(Succession, CountsAfterEachClassByItself) {
  const std::size_t classes = 3;
  Rng rng(4);
  ClassHistory history(0, classes);
  const auto expert = make_class_expert(SuccessionPlan{}, 0, classes);
  std::vector<std::vector<std::size_t>> after(classes);
  std::size_t last = no_class;
  for (int t = 0; t < 300; ++t) {
    const Vector p = history.predict(*expert, {});
    const Vector expected =
        last == no_class ? Vector(classes, 1.0 / classes) : share_of(after[last], classes);
    ASSERT_TRUE(test::near(p, expected, 1e-12)) << t;
    const std::size_t y = draw(rng, classes);
    history.learn(*expert, {}, y);
    if (last != no_class) after[last].push_back(y);
    last = y;
  }
}

struct LabelledSample {
  Vector x;
  std::size_t y;
};

/// Naive Bayes over all samples: classes by their counts; of an input with at most 16 different
/// values the shares of these in a class, of others a normal distribution in each class, whose mean
/// and variance are taken together with two samples of the whole stream's, in units of the stream's
/// deviation; no value counts as more than ten of these from the mean.
Vector naive_bayes(const std::vector<LabelledSample>& samples, const HeldMoments& scale,
                   const Vector& x, std::size_t classes) {
  Vector p(classes);
  for (std::size_t k = 0; k < classes; ++k) {
    std::vector<const LabelledSample*> of_class;
    for (const LabelledSample& s : samples)
      if (s.y == k) of_class.push_back(&s);
    const auto n = static_cast<double>(of_class.size());
    p[k] = std::log(n + 0.5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::set<double> values;
      for (const LabelledSample& s : samples) values.insert(s.x[i]);
      if (values.size() <= 16) {
        double equal = 0;
        for (const auto* s : of_class) equal += s->x[i] == x[i] ? 1 : 0;
        p[k] += std::log((equal + 1 / static_cast<double>(values.size() + 1)) / (n + 1));
        continue;
      }
      const double unit = scale.deviation(i);
      double mean = 0;
      for (const auto* s : of_class) mean += s->x[i] / n;
      double variance = 0;
      for (const auto* s : of_class) variance += std::pow((s->x[i] - mean) / unit, 2) / n;
      const double center = (n * mean + 2 * scale.mean(i)) / (n + 2);
      const double v = std::min((n * variance + 2) / (n + 2), 1e6) + 1e-4;
      const double off = std::clamp((x[i] - center) / unit, -10.0, 10.0);
      p[k] -= 0.5 * (std::log(v) + off * off / v);
    }
  }
  softmax(p);
  return p;
}

// The second input has more than 16 values from the start, the third from some time on.
TEST(NaiveBayes, IsBayesRuleOverSharesAndNormalDistributions) {
  const std::size_t classes = 3;
  Rng rng(5);
  ClassHistory history(3, classes);
  const auto expert = make_class_expert(BayesPlan{}, 3, classes);
  std::vector<LabelledSample> samples;
  for (int t = 0; t < 200; ++t) {
    const std::size_t y = draw(rng, classes);
    const auto shift = static_cast<double>(y);
    const Vector x{static_cast<double>(rng.below(5 + y)), 1000 + 50 * (shift + rng.normal()),
                   static_cast<double>(rng.below(t < 100 ? 16 : 40))};
    ASSERT_TRUE(test::near(history.predict(*expert, x),
                           naive_bayes(samples, history.scale(), x, classes), 1e-9))
        << t;
    history.learn(*expert, x, y);
    samples.push_back({x, y});
    if (t == 50) history.scale().hold();
  }
}

// Of classes that there were, the odds stay what they were.
TEST(SimpleExperts, WidenWithoutForgetting) {
  Rng rng(6);
  ClassHistory history(2, 2);
  std::vector<std::unique_ptr<ClassExpert>> experts;
  experts.push_back(make_class_expert(FrequenciesPlan{}, 0, 2));
  experts.push_back(make_class_expert(SuccessionPlan{}, 0, 2));
  experts.push_back(make_class_expert(BayesPlan{}, 2, 2));
  std::vector<ClassExpert*> all;
  for (const auto& e : experts) all.push_back(e.get());
  for (int t = 0; t < 200; ++t) {
    const std::size_t y = draw(rng, 2);
    history.learn(all, {static_cast<double>(y) + rng.normal(), rng.normal()}, y);
  }
  const Vector x{0.5, -1};
  std::vector<Vector> before;
  for (ClassExpert* e : all) before.push_back(history.predict(*e, x));
  history.widen(3);
  for (std::size_t j = 0; j < all.size(); ++j) {
    all[j]->widen(3);
    const Vector after = history.predict(*all[j], x);
    EXPECT_TRUE(test::are_probabilities(after));
    EXPECT_NEAR(after[1] / after[0], before[j][1] / before[j][0], 1e-9) << j;
    EXPECT_GT(after[2], 0) << j;
    EXPECT_LT(after[2], 0.2) << j;
  }
  for (int t = 0; t < 600; ++t) history.learn(all, x, 2);
  for (ClassExpert* e : all) EXPECT_GT(history.predict(*e, x)[2], 0.5);
}

}  // namespace
}  // namespace kalstream
