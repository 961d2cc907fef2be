#include "learner/wild_start.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "data/generators.h"
#include "kalstream/learner.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

struct Seen {
  RunningMoments moments{1};
  WildStart start{1};
  int mended = 0;

  void add(double v) {
    moments.add(Vector{v});
    mended += start.add(Vector{v}, moments) ? 1 : 0;
  }
};

TEST(WildStart, AWildValueCountsAsTheMeanOfTheOthers) {
  for (const double wild : {1e6, -9999.0, 1e99})
    for (const int place : {0, 1}) {
      Rng rng(1);
      Seen seen;
      double mean = 0;
      for (int t = 0; t < 16; ++t) {
        const double v = 5 + rng.normal();
        seen.add(t == place ? wild : v);
        if (t >= 2) mean += v / 14;
        EXPECT_EQ(seen.mended, t == 15 ? 1 : 0);
      }
      EXPECT_EQ(seen.moments.count(), 16U);
      EXPECT_NEAR(seen.moments.mean(0), mean, 0.2);
      EXPECT_NEAR(seen.moments.deviation(0), 1, 0.4);
      seen.add(wild);  // is held, as ever
      EXPECT_EQ(seen.mended, 1);
      EXPECT_LT(std::abs(seen.moments.mean(0)), 10);
    }
}

TEST(WildStart, WhatIsNotWildChangesNothing) {
  const auto unchanged = [](const Vector& values) {
    Seen seen;
    RunningMoments plain(1);
    for (const double v : values) {
      seen.add(v);
      plain.add(Vector{v});
    }
    return seen.mended == 0 && seen.moments.mean(0) == plain.mean(0) &&
           seen.moments.deviation(0) == plain.deviation(0);
  };
  Rng rng(2);
  Vector noise;
  for (int t = 0; t < 40; ++t) noise.push_back(rng.normal());
  EXPECT_TRUE(unchanged(noise));
  Vector large_first = noise;
  large_first[0] = 500;
  EXPECT_TRUE(unchanged(large_first));
  Vector late = noise;
  late[2] = 1e6;
  EXPECT_TRUE(unchanged(late));
  Vector constant(40, 3.0);
  constant[0] = 1e6;  // among equals nothing tells what is far
  EXPECT_TRUE(unchanged(constant));
}

// ---- Learners.

Dataset troubled(double wild, std::size_t place, bool target) {
  Dataset data = generate("friedman", 5002);
  if (target)
    data.targets[place] = wild;
  else
    data.inputs[place * data.n_inputs()] = wild;
  return data;
}

std::unique_ptr<Learner> learner_of(const Rule& rule, std::size_t inputs) {
  LearnerOptions options;
  options.network.inputs = inputs;
  options.network.hidden = 4;
  options.rule = rule;
  return takes_raw_data(rule) ? make_learner(options) : make_scaled_learner(options);
}

/// The mean squared error over the last thousand samples.
double error_of(const Rule& rule, const Dataset& data) {
  const auto learner = learner_of(rule, data.n_inputs());
  double sum = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const double e = data.d(t)[0] - learner->predict(data.x(t))[0];
    if (t + 1000 >= data.rows()) sum += e * e / 1000;
    learner->learn(data.x(t), data.d(t));
  }
  EXPECT_EQ(learner->samples(), data.rows());
  return sum;
}

struct Contender {
  std::string name;
  Rule rule;
};

std::ostream& operator<<(std::ostream& out, const Contender& c) { return out << c.name; }

class WildStarts : public testing::TestWithParam<Contender> {};

TEST_P(WildStarts, AreForgotten) {
  const Rule& rule = GetParam().rule;
  const double untroubled = error_of(rule, generate("friedman", 5002));
  for (const double wild : {1e6, -9999.0})
    for (const std::size_t place : {0, 1})
      for (const bool target : {false, true})
        EXPECT_LT(error_of(rule, troubled(wild, place, target)), 1.2 * untroubled)
            << wild << (target ? " as target " : " as input ") << place;
}

INSTANTIATE_TEST_SUITE_P(Learners, WildStarts,
                         testing::Values(Contender{"ekf", Ekf{}}, Contender{"alg2", Algorithm2{}},
                                         Contender{"adam", Adam{}}, Contender{"rls", Rls{}},
                                         Contender{"auto", Auto{.experts = 1, .lags = 2}}),
                         [](const auto& one) { return one.param.name; });

// A snapshot in the middle of the start knows what has come.
TEST(WildStart, GoesOnFromASnapshot) {
  const Dataset data = troubled(1e6, 1, true);
  auto learner = learner_of(Ekf{}, data.n_inputs());
  auto stopped = learner->clone();
  for (std::size_t t = 0; t < 40; ++t) {
    stopped = load(save(*stopped));
    EXPECT_EQ(stopped->predict(data.x(t))[0], learner->predict(data.x(t))[0]) << t;
    stopped->learn(data.x(t), data.d(t));
    learner->learn(data.x(t), data.d(t));
    EXPECT_EQ(stopped->samples(), t + 1);
  }
  EXPECT_EQ(save(*stopped), save(*learner));
}

}  // namespace
}  // namespace kalstream
