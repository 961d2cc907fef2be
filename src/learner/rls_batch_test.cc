#include "kalstream/rls_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kalstream/learner.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::near;
using test::same_bits;
using test::Vector;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// A stream for every model: each with weights, units and outliers of its own.
class Samples {
 public:
  Samples(std::size_t models, std::size_t inputs, std::uint64_t seed = 5)
      : n_(inputs), rng_(seed), weights_(test::normals(rng_, models * inputs)), d(models) {
    x.resize(models * inputs);
  }

  void next() {
    for (std::size_t m = 0; m < d.size(); ++m) {
      const double unit = std::pow(10, static_cast<double>(m % 7) - 3);
      d[m] = 5 * unit + 0.1 * unit * rng_.normal();
      for (std::size_t j = 0; j < n_; ++j) {
        const double outlier = rng_.next() % 200 == 0 ? 50 : 1;
        x[m * n_ + j] = unit * (outlier * rng_.normal() + static_cast<double>(j));
        d[m] += weights_[m * n_ + j] * x[m * n_ + j];
      }
    }
  }
  std::span<const double> row(std::size_t m) const { return std::span(x).subspan(m * n_, n_); }

 private:
  std::size_t n_;
  Rng rng_;
  Vector weights_;

 public:
  Vector x;
  Vector d;
};

std::unique_ptr<Learner> single(std::size_t inputs, const Rls& rule = {}) {
  return make_learner({.network = {.inputs = inputs}, .rule = rule});
}

// Each model of a batch is the learner `rls`, within rounding, whatever group it is in.
TEST(RlsBatch, IsManyTimesRls) {
  for (const std::size_t n : {1, 2, 5, 8, 13}) {
    constexpr std::size_t models = 19;
    for (const Rls& rule : {Rls{}, Rls{.initial_covariance = 10, .process_noise = 1e-4}}) {
      RlsBatch batch(models, n, rule);
      std::vector<std::unique_ptr<Learner>> learners;
      for (std::size_t m = 0; m < models; ++m) learners.push_back(single(n, rule));
      Samples samples(models, n);
      Vector before(models);
      Vector said(models);
      for (int t = 0; t < 400; ++t) {
        samples.next();
        if (t % 9 == 4) samples.d[t % models] = none;
        batch.predict(samples.x, before);
        const auto report = batch.learn(samples.x, samples.d, said);
        EXPECT_TRUE(same_bits(before, said));
        EXPECT_EQ(report.missing, t % 9 == 4 ? 1U : 0U);
        for (std::size_t m = 0; m < models; ++m) {
          const double one = learners[m]->predict(samples.row(m))[0];
          EXPECT_NEAR(said[m], one, 1e-8 * (1 + std::abs(one))) << n << ' ' << m << ' ' << t;
          if (std::isnan(samples.d[m]))
            learners[m]->advance(samples.row(m));
          else
            learners[m]->learn(samples.row(m), {&samples.d[m], 1});
        }
      }
      EXPECT_EQ(batch.samples(models - 1), 400U);
    }
  }
}

// On a stream that is linear the weights are those it was made with.
TEST(RlsBatch, FindsTheWeights) {
  RlsBatch batch(3, 2);
  Rng rng(1);
  for (int t = 0; t < 3000; ++t) {
    Vector x = test::normals(rng, 6);
    const Vector d{3 * x[0] - x[1] + 7, 100 * x[2], -x[4] + 0.5 * x[5] - 2};
    batch.learn(x, d);
  }
  EXPECT_TRUE(near(batch.weights(0), Vector{3, -1, 7}, 0.02));
  EXPECT_TRUE(near(batch.weights(1), Vector{100, 0, 0}, 0.02));
  EXPECT_TRUE(near(batch.weights(2), Vector{-1, 0.5, -2}, 0.02));
}

TEST(RlsBatch, SomeModelsLeaveTheOthersAlone) {
  constexpr std::size_t models = 30;
  RlsBatch all(models, 3);
  RlsBatch some(models, 3);
  Samples samples(models, 3);
  Rng rng(3);
  for (int t = 0; t < 60; ++t) {
    samples.next();
    Vector x = samples.x;
    Vector some_x;
    Vector some_d;
    std::vector<std::size_t> which;
    for (std::size_t m = 0; m < models; ++m) {
      if (rng.next() % 3 == 0) {
        which.push_back(m);
        some_x.insert(some_x.end(), samples.row(m).begin(), samples.row(m).end());
        some_d.push_back(samples.d[m]);
      } else {
        std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(3 * m), 3, none);
      }
    }
    Vector d_hat(models);
    Vector some_d_hat(which.size());
    Vector predicted(which.size());
    const auto report = all.learn(x, samples.d, d_hat);
    EXPECT_EQ(report.rejected, models - which.size());
    some.predict_some(which, some_x, predicted);
    EXPECT_EQ(some.learn_some(which, some_x, some_d, some_d_hat).applied, which.size());
    EXPECT_TRUE(same_bits(predicted, some_d_hat));
    for (std::size_t k = 0; k < which.size(); ++k) EXPECT_EQ(some_d_hat[k], d_hat[which[k]]);
  }
  EXPECT_EQ(all.save(), some.save());
}

TEST(RlsBatch, WhatCannotBeUsedLeavesNoTrace) {
  constexpr std::size_t models = 11;
  for (const double bad : {none, std::numeric_limits<double>::infinity(), -1e101}) {
    RlsBatch batch(models, 4);
    RlsBatch without(models, 4);
    Samples samples(models, 4);
    for (int t = 0; t < 40; ++t) {
      samples.next();
      const std::size_t m = static_cast<std::size_t>(t) % models;
      Vector x = samples.x;
      Vector d = samples.d;
      if (t % 2 == 0)
        x[4 * m + static_cast<std::size_t>(t) % 4] = bad;
      else
        d[m] = std::isnan(bad) ? 1e200 : bad;
      std::vector<StepStatus> status(models);
      Vector d_hat(models);
      batch.learn(x, d, d_hat, status);
      EXPECT_EQ(status[m], StepStatus::rejected_input);
      EXPECT_TRUE(std::isnan(d_hat[m]));
      std::vector<std::size_t> which;
      Vector rest_x;
      Vector rest_d;
      for (std::size_t k = 0; k < models; ++k) {
        if (k == m) continue;
        EXPECT_EQ(status[k], StepStatus::applied);
        which.push_back(k);
        rest_x.insert(rest_x.end(), samples.row(k).begin(), samples.row(k).end());
        rest_d.push_back(samples.d[k]);
      }
      without.learn_some(which, rest_x, rest_d);
    }
    EXPECT_EQ(batch.save(), without.save());
  }
}

// What is predicted depends on nothing that comes later.
TEST(RlsBatch, DoesNotLookAhead) {
  RlsBatch one(9, 2);
  Samples samples(9, 2);
  for (int t = 0; t < 20; ++t) {
    samples.next();
    RlsBatch other = one;
    Vector d_hat(9);
    Vector d_hat_other(9);
    Vector d = samples.d;
    for (double& v : d) v = 1e6 - v;
    one.learn(samples.x, samples.d, d_hat);
    other.learn(samples.x, d, d_hat_other);
    EXPECT_TRUE(same_bits(d_hat, d_hat_other));
  }
}

TEST(RlsBatch, GoesOnFromASnapshot) {
  RlsBatch batch(21, 3, {.initial_covariance = 5, .process_noise = 1e-3});
  Samples samples(21, 3);
  Vector d_hat(21);
  Vector again(21);
  for (int t = 0; t < 90; ++t) {
    samples.next();
    RlsBatch other = RlsBatch::load(batch.save());
    batch.learn(samples.x, samples.d, d_hat);
    other.learn(samples.x, samples.d, again);
    EXPECT_TRUE(same_bits(d_hat, again));
    EXPECT_EQ(other.save(), batch.save());
  }
  batch.reset(4);
  EXPECT_EQ(batch.samples(4), 0U);
  EXPECT_EQ(batch.samples(5), 90U);
  batch.reset();
  EXPECT_EQ(batch.save(), RlsBatch(21, 3, {.initial_covariance = 5, .process_noise = 1e-3}).save());
}

TEST(RlsBatch, RefusesDamagedSnapshots) {
  const auto bytes = RlsBatch(3, 2).save();
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    auto damaged = bytes;
    damaged[k] ^= std::byte{1};
    EXPECT_THROW(RlsBatch::load(damaged), SnapshotError) << k;
    EXPECT_THROW(RlsBatch::load(std::span(bytes).first(k)), SnapshotError) << k;
  }
  EXPECT_THROW(RlsBatch::load(bytes, 100), SnapshotError);
}

TEST(RlsBatch, SaysWhatIsWrong) {
  EXPECT_THROW(RlsBatch(0, 2), std::invalid_argument);
  EXPECT_THROW(RlsBatch(2, 0), std::invalid_argument);
  EXPECT_THROW(RlsBatch(2, 2, {.initial_covariance = -1}), std::invalid_argument);
  EXPECT_THROW(RlsBatch(2, 2, {.process_noise = Schedule::linear(1, 0, 5)}), std::invalid_argument);
  RlsBatch batch(2, 2);
  Vector three(3);
  Vector two(2);
  Vector four(4);
  const std::vector<std::size_t> wrong{1, 0};
  EXPECT_THROW(batch.predict(three, two), std::invalid_argument);
  EXPECT_THROW(batch.predict(four, three), std::invalid_argument);
  EXPECT_THROW(batch.learn(four, three), std::invalid_argument);
  EXPECT_THROW(batch.predict_some(wrong, four, two), std::invalid_argument);
  EXPECT_THROW(batch.samples(2), std::invalid_argument);
}

// For a long life: inputs that say nothing, repeat each other or stand still; noise that P grows
// by.
TEST(RlsBatch, StaysSoundWhereNothingIsLearnt) {
  RlsBatch batch(8, 3, {.process_noise = 1e-3});
  Rng rng(2);
  Vector d_hat(8);
  for (int t = 0; t < 30'000; ++t) {
    Vector x(24);
    Vector d(8);
    for (std::size_t m = 0; m < 8; ++m) {
      const double v = rng.normal();
      x[3 * m] = v;
      x[3 * m + 1] = m % 2 == 0 ? v : 1e9;
      x[3 * m + 2] = t < 100 ? rng.normal() : 0;
      d[m] = 2 * v + 1;
    }
    batch.learn(x, d, d_hat);
    for (std::size_t m = 0; m < 8 && t > 1000; ++m)
      EXPECT_NEAR(d_hat[m], d[m], 0.2) << t << ' ' << m;
  }
}

}  // namespace
}  // namespace kalstream
