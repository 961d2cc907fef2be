#include "kalstream/forecaster.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::Vector;

constexpr std::size_t horizon = 14;

std::unique_ptr<Learner> learner_of(std::size_t inputs, const Rule& rule = Auto{.experts = 2}) {
  LearnerOptions o{.network = {}, .rule = rule};
  o.network.inputs = inputs;
  o.network.hidden = 4;
  if (inputs == 0 && !sees_past_targets(rule)) o.lags = 2;
  return make_learner(o);
}

Vector seasonal(std::size_t n, std::uint64_t seed = 1) {
  Rng rng(seed);
  Vector y(n);
  double slow = 0;
  for (std::size_t t = 0; t < n; ++t) {
    slow = 0.95 * slow + 0.3 * rng.normal();
    y[t] = 50 + 10 * std::sin(2 * std::numbers::pi * static_cast<double>(t) / 12) +
           (t % 12 == 4 ? 8 : 0) + slow;
  }
  return y;
}

struct Life {
  explicit Life(double coverage = 0, const Rule& rule = Auto{.experts = 2})
      : learner(learner_of(0, rule)), forecaster(*learner, horizon, coverage) {}

  void step(double y) {
    learner->predict({});
    learner->learn({}, {&y, 1});
    forecaster.learn(*learner, {&y, 1});
    forecaster.forecast(*learner, {});
  }
  void miss() {
    learner->predict({});
    learner->advance({});
    forecaster.learn(*learner, {});
    forecaster.forecast(*learner, {});
  }
  Vector values() const { return {forecaster.values().begin(), forecaster.values().end()}; }

  std::unique_ptr<Learner> learner;
  Forecaster forecaster;
};

TEST(Forecaster, OptionsAreChecked) {
  const auto learner = learner_of(0);
  EXPECT_THROW(Forecaster(*learner, 0), std::invalid_argument);
  EXPECT_THROW(Forecaster(*learner, 1001), std::invalid_argument);
  EXPECT_THROW(Forecaster(*learner, 3, 1), std::invalid_argument);
  EXPECT_NO_THROW(Forecaster(*learner, 1000));
}

// Other learners forecast as they always did.
TEST(Forecaster, LeavesOtherLearnersAlone) {
  Life life(0, Ar{});
  const Vector y = seasonal(100);
  for (const double v : y) life.step(v);
  Vector expected(horizon);
  ASSERT_TRUE(life.learner->forecast(horizon, {}, expected));
  EXPECT_TRUE(same_bits(life.values(), expected));
}

// A level that stays is believed at every lead as soon as by the learner's prediction, at any age;
// a single wild value is not.
TEST(Forecaster, ALevelThatStaysIsBelieved) {
  for (const int age : {100, 1000, 5000}) {
    Rng rng(2);
    Life life;
    for (int t = 0; t < age; ++t) life.step(rng.normal());
    life.step(1000);
    for (const double said : life.values()) EXPECT_LT(std::abs(said), 10) << age;
    for (int t = 0; t < 50; ++t) life.step(rng.normal());
    for (int t = 0; t < 40; ++t) {
      life.step(40 + rng.normal());
      const double slack = t < 10 ? 16 : 6;
      if (t < 2) continue;
      for (const double said : life.values()) EXPECT_NEAR(said, 40, slack) << age << ' ' << t;
    }
  }
}

// What is said at t rests on targets up to t: others may come later, and nothing changes.
TEST(Forecaster, DoesNotLookAhead) {
  const Vector y = seasonal(160);
  Vector other = y;
  for (std::size_t t = 120; t < other.size(); ++t) other[t] = -3 * y[t];
  Life a;
  Life b;
  for (std::size_t t = 0; t < y.size(); ++t) {
    a.step(y[t]);
    b.step(other[t]);
    ASSERT_EQ(same_bits(a.values(), b.values()) ? 1 : 0, t < 120 ? 1 : 0) << t;
  }
}

// Every lead is better than going on step by step, and than the season repeated.
TEST(Forecaster, LeadsLearn) {
  Life life;
  const double periods[] = {12};
  life.learner->expect_periods(periods);
  const Vector y = seasonal(2000);
  Vector own(y.size() + 12), blended(own), ahead(horizon);
  double own_loss = 0, blended_loss = 0, repeated_loss = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    life.step(y[t]);
    life.learner->forecast(horizon, {}, ahead);
    own[t + 12] = ahead[11];
    blended[t + 12] = life.values()[11];
    if (t < 500) continue;
    own_loss += std::pow(y[t] - own[t], 2);
    blended_loss += std::pow(y[t] - blended[t], 2);
    repeated_loss += std::pow(y[t] - y[t - 12], 2);
  }
  EXPECT_LT(blended_loss, 1.02 * own_loss);
  EXPECT_LT(blended_loss, 0.9 * repeated_loss);
}

TEST(Forecaster, BoundsHoldAsOftenAsTheyShould) {
  Life life(0.9);
  const Vector y = seasonal(1500);
  std::vector<Interval> bounds(y.size() + horizon);
  std::size_t within = 0, counted = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (t > 300 && !std::isnan(bounds[t].low)) {
      ++counted;
      within += bounds[t].holds(y[t]) ? 1 : 0;
    }
    life.step(y[t]);
    ASSERT_EQ(life.forecaster.bounds().size(), horizon);
    bounds[t + 8] = life.forecaster.bounds()[7];
  }
  EXPECT_NEAR(static_cast<double>(within) / static_cast<double>(counted), 0.9, 0.03);
}

TEST(Forecaster, GoesOnFromASnapshotAndACopy) {
  const Vector y = seasonal(260);
  Life life(0.8);
  for (std::size_t t = 0; t < 200; ++t) t % 17 == 5 ? life.miss() : life.step(y[t]);
  Life loaded(0.8);
  loaded.learner = life.learner->clone();
  test::set_state(loaded.forecaster, test::state_of(life.forecaster));
  Life copied(0.8);
  copied.learner = life.learner->clone();
  copied.forecaster = life.forecaster;
  for (std::size_t t = 200; t < y.size(); ++t) {
    life.step(y[t]);
    loaded.step(y[t]);
    copied.step(y[t]);
    ASSERT_TRUE(same_bits(loaded.values(), life.values())) << t;
    ASSERT_TRUE(same_bits(copied.values(), life.values())) << t;
    EXPECT_EQ(loaded.forecaster.bounds()[3].high, life.forecaster.bounds()[3].high);
  }
}

TEST(Forecaster, ResetIsANewOne) {
  const Vector y = seasonal(60);
  Life life(0.9);
  for (const double v : y) life.step(v);
  life.learner->reset();
  life.forecaster.reset();
  Life fresh(0.9);
  for (const double v : y) {
    life.step(v);
    fresh.step(v);
    ASSERT_TRUE(same_bits(life.values(), fresh.values()));
  }
}

// An input that is known ahead is made use of; as many leads as there are rows.
TEST(Forecaster, InputsOfTheFuture) {
  const auto learner = learner_of(1);
  Forecaster forecaster(*learner, 6);
  Rng rng(8);
  Vector x(1200);
  for (double& v : x) v = rng.normal();
  Vector blended(x.size() + 6);
  double loss = 0;
  for (std::size_t t = 0; t + 6 < x.size(); ++t) {
    const double y = 3 * x[t] + 0.1 * rng.normal();
    if (t > 600) loss += std::pow(y - blended[t], 2) / 600;
    learner->predict({&x[t], 1});
    learner->learn({&x[t], 1}, {&y, 1});
    forecaster.learn(*learner, {&y, 1});
    ASSERT_EQ(forecaster.forecast(*learner, std::span(x).subspan(t + 1, 5)), 5U);
    blended[t + 5] = forecaster.values()[4];
  }
  EXPECT_LT(loss, 0.3);  // of a variance of 9
  EXPECT_EQ(forecaster.forecast(*learner, Vector{1e200, 0}), 0U);
}

// Samples that wait for their targets are passed: leads count from behind them.
TEST(Forecaster, PassesThoseThatWait) {
  Life life;
  const Vector y = seasonal(300);
  for (const double v : y) life.step(v);
  const Vector direct = life.values();
  ASSERT_EQ(life.forecaster.forecast(*life.learner, {}, 3), horizon);
  for (std::size_t k = 0; k + 3 < horizon; ++k) EXPECT_EQ(life.values()[k], direct[k + 3]);
}

}  // namespace
}  // namespace kalstream
