// What every expert of a classifier promises, and which of them there are.
#include "classes/class_experts.h"

#include <gtest/gtest.h>

#include <set>

#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

NetworkOptions network_of(std::size_t inputs, std::size_t classes) {
  NetworkOptions network;
  network.inputs = inputs;
  network.outputs = classes;
  network.hidden = 4;
  network.window = 4;
  return network;
}

// All there are, those of auto-max among them.
std::vector<ClassExpertPlan> all_plans(std::size_t inputs, std::size_t classes) {
  Auto options;
  options.full_ekf = true;
  return plan_class_experts(options, network_of(inputs, classes));
}

/// Clouds of points, one for each class; 1/4 of the labels are drawn at random.
struct Clouds {
  Rng rng{1};
  std::size_t inputs;
  std::size_t classes;

  std::pair<Vector, std::size_t> next() {
    const auto y = static_cast<std::size_t>(rng.below(classes));
    Vector x = test::normals(rng, inputs);
    for (double& v : x) v += 2 * static_cast<double>(y);
    return {x, rng.below(4) == 0 ? static_cast<std::size_t>(rng.below(classes)) : y};
  }
};

void learn_many(ClassHistory& history, ClassExpert& expert, Clouds& clouds, int samples) {
  for (int t = 0; t < samples; ++t) {
    const auto [x, y] = clouds.next();
    history.predict_and_learn(expert, x, y);
  }
}

class ClassExperts : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  std::size_t inputs_ = std::get<0>(GetParam());
  std::size_t classes_ = std::get<1>(GetParam());

  template <class Check>
  void for_each_expert(const Check& check) {
    for (const ClassExpertPlan& plan : all_plans(inputs_, classes_)) {
      SCOPED_TRACE(plan.name);
      check(*make_class_expert(plan, inputs_, classes_));
    }
  }
};

TEST_P(ClassExperts, SayProbabilitiesAndPredictingChangesNothing) {
  for_each_expert([&](ClassExpert& expert) {
    Clouds clouds{.inputs = inputs_, .classes = classes_};
    ClassHistory history(inputs_, classes_);
    const auto never_asked = expert.clone();
    for (int t = 0; t < 120; ++t) {
      const auto [x, y] = clouds.next();
      const auto before = t % 10 == 0 ? test::state_bytes(expert) : std::vector<std::byte>();
      history.predict(expert, test::normals(clouds.rng, inputs_, 100));
      const Vector p = history.predict(expert, x);
      ASSERT_TRUE(test::are_probabilities(p)) << t;
      ASSERT_TRUE(test::same_bits(history.predict(expert, x), p));
      if (t % 10 == 0) {
        ASSERT_TRUE(test::state_bytes(expert) == before) << t;
      }
      ASSERT_TRUE(test::same_bits(history.predict(*never_asked, x), p)) << t;
      ClassExpert* const both[] = {&expert, never_asked.get()};
      history.learn(both, x, y);
      if (t % 7 == 0)
        for (ClassExpert* one : both) one->advance(history.moment(x));
    }
  });
}

TEST_P(ClassExperts, GoOnFromASnapshotAndFromACopy) {
  for_each_expert([&](ClassExpert& expert) {
    Clouds clouds{.inputs = inputs_, .classes = classes_};
    ClassHistory history(inputs_, classes_);
    auto loaded = expert.clone();
    for (int t = 0; t < 150; ++t) {
      if (t % 50 == 40) {
        loaded->reset();
        test::restore_from(test::state_bytes(expert), *loaded);
      } else if (t % 50 == 20) {
        loaded = expert.clone();
      }
      const auto [x, y] = clouds.next();
      const Vector p = history.predict(expert, x);
      ASSERT_TRUE(test::same_bits(history.predict(*loaded, x), p)) << t;
      ClassExpert* const both[] = {&expert, loaded.get()};
      history.learn(both, x, y);
    }
    EXPECT_TRUE(test::state_bytes(*loaded) == test::state_bytes(expert));
  });
}

TEST_P(ClassExperts, AreAsNewAfterAReset) {
  for_each_expert([&](ClassExpert& expert) {
    const auto as_new = test::state_bytes(expert);
    Clouds clouds{.inputs = inputs_, .classes = classes_};
    ClassHistory history(inputs_, classes_);
    learn_many(history, expert, clouds, 60);
    expert.reset();
    EXPECT_TRUE(test::state_bytes(expert) == as_new);
  });
}

// A class keeps its number: who is told of more classes says the same of the old ones, or, if it
// begins anew, nothing.
TEST_P(ClassExperts, KeepTheOrderOfClassesWhenTheyWiden) {
  for_each_expert([&](ClassExpert& expert) {
    if (expert.starts_over()) return;
    Clouds clouds{.inputs = inputs_, .classes = classes_};
    ClassHistory history(inputs_, classes_);
    learn_many(history, expert, clouds, 200);
    std::vector<Vector> before;
    std::vector<Vector> at;
    for (int k = 0; k < 10; ++k) {
      at.push_back(clouds.next().first);
      before.push_back(history.predict(expert, at.back()));
    }
    history.widen(classes_ + 2);
    expert.widen(classes_ + 2);
    for (std::size_t n = 0; n < at.size(); ++n) {
      const Vector after = history.predict(expert, at[n]);
      ASSERT_TRUE(test::are_probabilities(after));
      for (std::size_t j = 0; j < classes_; ++j)
        for (std::size_t k = 0; k < classes_; ++k)
          if (before[n][j] < before[n][k]) {
            ASSERT_LE(after[j], after[k]) << n;
          }
    }
    clouds.classes = classes_ + 2;
    learn_many(history, expert, clouds, 50);
    EXPECT_TRUE(test::are_probabilities(history.predict(expert, clouds.next().first)));
  });
}

INSTANTIATE_TEST_SUITE_P(Streams, ClassExperts,
                         testing::Combine(testing::Values(0, 2), testing::Values(2, 3)),
                         [](const auto& of) {
                           return std::to_string(std::get<0>(of.param)) + "Inputs" +
                                  std::to_string(std::get<1>(of.param)) + "Classes";
                         });

TEST(ClassExpertPlans, HaveNamesOfTheirOwn) {
  for (const std::size_t inputs : {0, 3}) {
    std::set<std::string> names;
    const auto plans = all_plans(inputs, 3);
    for (const ClassExpertPlan& plan : plans) names.insert(plan.name);
    EXPECT_EQ(names.size(), plans.size());
  }
}

TEST(ClassExpertPlans, WithoutInputsNobodyLooksAtThem) {
  for (const ClassExpertPlan& plan : all_plans(0, 2)) {
    if (const auto* net = std::get_if<ClassNetworkPlan>(&plan.what)) {
      EXPECT_GT(net->lags, 0U) << plan.name;
      continue;
    }
    EXPECT_TRUE(std::holds_alternative<FrequenciesPlan>(plan.what) ||
                std::holds_alternative<SuccessionPlan>(plan.what))
        << plan.name;
  }
}

TEST(ClassExpertPlans, TakeAsManyNetworksAsAreWanted) {
  const auto names = [](std::size_t experts) {
    Auto options;
    options.experts = experts;
    std::vector<std::string> all;
    for (const auto& plan : plan_class_experts(options, network_of(2, 2))) all.push_back(plan.name);
    return all;
  };
  const auto all = names(0);
  EXPECT_EQ(names(3), all);
  for (const std::size_t n : {1, 2}) {
    auto fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(n), fewer.begin() + 3);
    EXPECT_EQ(names(n), fewer);
  }
}

}  // namespace
}  // namespace kalstream
