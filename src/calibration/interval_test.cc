// Intervals: coverage on streams of many kinds, the guarantee against adversaries, and manners.
#include "kalstream/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <string>

#include "data/generators.h"
#include "kalstream/learner.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::state_of;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Intervals from_state(std::span<const std::byte> bytes, std::size_t outputs, double coverage) {
  Intervals intervals(outputs, coverage);
  test::set_state(intervals, bytes);
  return intervals;
}

Vector numbers(std::span<const Interval> bounds) {
  Vector all;
  for (const Interval& b : bounds) {
    all.insert(all.end(), {b.low, b.high, b.origin.d_hat, b.origin.scale, b.origin.usual,
                           b.origin.log_spread, double(b.origin.learnt)});
    all.insert(all.end(), b.origin.features.begin(), b.origin.features.end());
  }
  return all;
}

/// Width, and what was missed by, times 2/(1 − coverage): least for the true quantiles.
double score(const Interval& b, double d, double coverage) {
  return b.high - b.low +
         2 / (1 - coverage) * (std::max(b.low - d, 0.0) + std::max(d - b.high, 0.0));
}

// ---- Coverage.

struct Errors {
  std::string name;
  std::function<double(std::size_t t, Rng& rng)> next;
};

std::ostream& operator<<(std::ostream& out, const Errors& e) { return out << e.name; }

std::vector<Errors> kinds_of_errors() {
  const auto student = [](Rng& rng, int degrees) {
    double chi2 = 0;
    for (int k = 0; k < degrees; ++k) {
      const double z = rng.normal();
      chi2 += z * z;
    }
    return rng.normal() / std::sqrt(chi2 / degrees);
  };
  return {
      {"normal", [](std::size_t, Rng& rng) { return rng.normal(); }},
      {"tiny", [](std::size_t, Rng& rng) { return 1e-90 * rng.normal(); }},
      {"huge", [](std::size_t, Rng& rng) { return 1e90 * rng.normal(); }},
      {"biased", [](std::size_t, Rng& rng) { return 3 + rng.normal(); }},
      {"skewed", [](std::size_t, Rng& rng) { return -std::log(1 - rng.uniform()); }},
      {"two_values_and_little",
       [](std::size_t, Rng& rng) { return (rng.below(2) == 0 ? 1 : -1) + 0.01 * rng.normal(); }},
      {"without_variance", [=](std::size_t, Rng& rng) { return student(rng, 2); }},
      {"without_mean", [=](std::size_t, Rng& rng) { return student(rng, 1); }},
      {"outliers",
       [](std::size_t, Rng& rng) { return rng.normal() * (rng.below(50) == 0 ? 1e4 : 1); }},
      {"ten_times_at_once",
       [](std::size_t t, Rng& rng) { return rng.normal() * (t < 2500 ? 1 : 10); }},
      {"a_thousandth_at_once",
       [](std::size_t t, Rng& rng) { return rng.normal() * (t < 2500 ? 1 : 1e-3); }},
      {"ever_larger",
       [](std::size_t t, Rng& rng) { return rng.normal() * std::exp(0.01 * double(t)); }},
      {"ever_smaller",
       [](std::size_t t, Rng& rng) { return rng.normal() * std::exp(-0.002 * double(t)); }},
      {"waves", [](std::size_t t,
                   Rng& rng) { return rng.normal() * std::exp(2 * std::sin(0.05 * double(t))); }},
      {"another_shape",
       [](std::size_t t, Rng& rng) {
         return t < 2500 ? rng.uniform(-1, 1) : -std::log(rng.uniform() + 1e-9);
       }},
      {"back_and_forth", [](std::size_t t, Rng&) { return std::sin(0.3 * double(t)); }},
      {"a_walk",  // of a learner that is wrong for long
       [sum = 0.0](std::size_t, Rng& rng) mutable { return sum += rng.normal(); }},
      {"at_rest_half_of_the_time",
       [](std::size_t t, Rng& rng) {
         return t / 500 % 2 == 0 ? 1e-9 * rng.normal() : rng.normal();
       }},
  };
}

class Coverage : public testing::TestWithParam<Errors> {};

TEST_P(Coverage, IsWithinTwoPercent) {
  for (const double nominal : {0.5, 0.8, 0.9, 0.95}) {
    Rng rng(5);
    Intervals intervals(1, nominal);
    auto next = GetParam().next;
    std::size_t unknown = 0;
    std::size_t within = 0;
    constexpr std::size_t length = 5000;
    for (std::size_t t = 0; t < length; ++t) {
      const Vector d{next(t, rng)};
      const auto bounds = intervals.around(Vector{0});
      unknown += std::isnan(bounds[0].low) ? 1 : 0;
      within += bounds[0].holds(d[0]) ? 1 : 0;
      if (t >= 10) {
        ASSERT_TRUE(bounds[0].low <= bounds[0].high) << t;
        ASSERT_TRUE(std::isfinite(bounds[0].high - bounds[0].low)) << t;
      }
      intervals.learn(bounds, d);
    }
    EXPECT_EQ(unknown, 10U);
    EXPECT_EQ(intervals.counted(), length - unknown);
    EXPECT_EQ(intervals.coverage(), double(within) / double(length - unknown));
    EXPECT_NEAR(intervals.coverage(), nominal, 0.02) << nominal;
    EXPECT_NEAR(intervals.recent_coverage(), nominal, 0.05) << nominal;
  }
}

INSTANTIATE_TEST_SUITE_P(Intervals, Coverage, testing::ValuesIn(kinds_of_errors()),
                         [](const auto& one) { return one.param.name; });

// Real learners, also after a drift; the same with targets that come fifty samples late.
TEST(Intervals, CoverWhatLearnersPredict) {
  struct Case {
    const char* stream;
    Rule rule;
  };
  constexpr std::size_t drift = 1000;  // every so many rows, in friedman
  for (const auto& [stream, rule] : {Case{"friedman?drift=abrupt", Ekf{}},
                                     Case{"friedman?drift=abrupt", Auto{.experts = 1, .lags = 2}},
                                     Case{"mackey-glass", Algorithm2{}}, Case{"sine", Naive{}}}) {
    const Dataset data = generate(stream, 5010);
    LearnerOptions options;
    options.network.inputs = data.n_inputs();
    options.network.hidden = 4;
    options.rule = rule;
    const auto learner =
        takes_raw_data(rule) ? make_learner(options) : make_scaled_learner(options);
    Intervals prompt(1, 0.9);
    Intervals late(1, 0.9);
    std::deque<Interval> outstanding;
    std::size_t after = 0;
    std::size_t within = 0;
    for (std::size_t t = 0; t < data.rows(); ++t) {
      const Vector d_hat{learner->predict(data.x(t))[0]};
      const auto spread = learner->spread();
      outstanding.push_back(late.around(d_hat, spread)[0]);
      const auto bounds = prompt.around(d_hat, spread);
      if (t >= drift && t % drift < 500) {
        ++after;
        within += bounds[0].holds(data.d(t)[0]) ? 1 : 0;
      }
      learner->learn(data.x(t), data.d(t));
      prompt.learn(bounds, data.d(t));
      if (t < 50) continue;
      late.learn({&outstanding.front(), 1}, data.d(t - 50));
      outstanding.pop_front();
    }
    EXPECT_NEAR(prompt.coverage(), 0.9, 0.02) << stream;
    EXPECT_NEAR(late.coverage(), 0.9, 0.02) << stream;
    EXPECT_NEAR(double(within) / double(after), 0.9, 0.03) << stream;
  }
}

// Where the learner knows how sure it can be, the bounds know it, too.
TEST(Intervals, SpreadMakesThemSharper) {
  Rng rng(6);
  Intervals with(1, 0.9);
  Intervals without(1, 0.9);
  double of_with = 0;
  double of_without = 0;
  for (std::size_t t = 0; t < 3000; ++t) {
    const double size = std::exp(rng.normal());
    const Vector d{size * rng.normal()};
    const Vector spread{1e5 * size};  // of unknown scale
    const auto a = with.around(Vector{0}, spread);
    const auto b = without.around(Vector{0});
    if (t > 100) {
      of_with += score(a[0], d[0], 0.9);
      of_without += score(b[0], d[0], 0.9);
    }
    with.learn(a, d);
    without.learn(b, d);
  }
  EXPECT_LT(of_with, 0.75 * of_without);
}

// ---- The guarantee.

struct Adversary {
  std::string name;
  double b;
  /// The error in units of the scale, for bounds in the same units.
  std::function<double(std::size_t t, double low, double high, double b, Rng& rng)> choose;
};

double just_above(double high, double b) { return std::min(high + 1e-9 * (1 + std::abs(high)), b); }

std::vector<Adversary> adversaries() {
  const auto above = [](std::size_t, double, double high, double b, Rng&) {
    return just_above(high, b);
  };
  const auto nearest = [](std::size_t, double low, double high, double b, Rng&) {
    return high < -low ? just_above(high, b) : -just_above(-low, b);
  };
  const auto farthest = [](std::size_t, double low, double high, double b, Rng&) {
    return high < b ? b : low > -b ? -b : 0;
  };
  const auto sleeps = [](std::size_t t, double, double high, double b, Rng&) {
    return t / 700 % 2 == 0 ? 0 : just_above(high, b);
  };
  const auto at_random = [](std::size_t, double, double high, double b, Rng& rng) {
    return rng.below(5) == 0 ? just_above(high, b) : rng.normal();
  };
  std::vector<Adversary> all;
  for (const double b : {3.0, 10.0, 1000.0}) {
    const auto in = [&](const char* name) { return name + std::to_string(int(b)); };
    all.push_back({in("above_"), b, above});
    all.push_back({in("nearest_"), b, nearest});
    all.push_back({in("farthest_"), b, farthest});
    all.push_back({in("sleeps_"), b, sleeps});
    all.push_back({in("at_random_"), b, at_random});
  }
  return all;
}

TEST(Intervals, KeepTheirGuaranteeAgainstAdversaries) {
  for (const double nominal : {0.5, 0.9, 0.95})
    for (const auto& [name, b, choose] : adversaries()) {
      Rng rng(7);
      Intervals intervals(1, nominal);
      double balance = 0;  // Σ([missed] − (1 − nominal)), and the least it was
      double least = 0;
      const double excess = intervals.excess(b);
      for (std::size_t t = 0; t < 6000; ++t) {
        const auto bounds = intervals.around(Vector{0});
        const double scale = bounds[0].origin.scale > 0 ? bounds[0].origin.scale : 1;
        const bool rests = t < 10 || scale > 1e90;  // which errors of 1000σ each lead to
        const Vector d{rests ? 1
                             : scale * choose(t, bounds[0].low / scale, bounds[0].high / scale,
                                              b * (1 - 1e-12), rng)};
        if (t >= 10) balance += (bounds[0].holds(d[0]) ? 0 : 1) - (1 - nominal);
        ASSERT_LE(balance - least, excess) << name << " at " << t << ", nominal " << nominal;
        least = std::min(least, balance);
        intervals.learn(bounds, d);
      }
      EXPECT_GE(intervals.coverage(), nominal - excess / 5990) << name;
    }
}

TEST(Intervals, TheGuaranteeIsWorthSomething) {
  EXPECT_LT(Intervals(1, 0.9).excess(10), 0.018 * 5000);
  EXPECT_LT(Intervals(1, 0.9).excess(1e6), 0.02 * 5000);
}

// ---- Manners.

TEST(Intervals, RefuseAnImpossibleCoverage) {
  for (const double coverage : {0.0, 1.0, -1.0, 2.0, nan})
    EXPECT_THROW(Intervals(1, coverage), std::invalid_argument);
}

TEST(Intervals, KnowNothingAtFirst) {
  Intervals intervals(2);
  EXPECT_EQ(intervals.outputs(), 2U);
  EXPECT_EQ(intervals.nominal(), 0.9);
  EXPECT_EQ(intervals.counted(1), 0U);
  EXPECT_TRUE(std::isnan(intervals.coverage(1)));
  EXPECT_TRUE(std::isnan(intervals.recent_coverage(1)));
  EXPECT_TRUE(std::isnan(intervals.around(Vector{1, 2})[1].low));
  EXPECT_TRUE(std::isnan(intervals.around(Vector{1, 2})[1].high));
}

// Bounds depend on nothing that is known later, and to ask for them changes nothing.
TEST(Intervals, NoLookAhead) {
  Rng rng(8);
  Intervals intervals(1);
  for (std::size_t t = 0; t < 200; ++t) {
    const auto before = state_of(intervals);
    const Vector d_hat{rng.normal()};
    const Vector spread{std::exp(rng.normal())};
    intervals.around(Vector{rng.normal()}, spread);
    const std::vector<Interval> bounds{intervals.around(d_hat, spread)[0]};
    ASSERT_EQ(state_of(intervals), before);
    Intervals other = intervals;
    other.learn(bounds, Vector{1e3 * rng.normal()});
    ASSERT_TRUE(same_bits(numbers(intervals.around(d_hat, spread)), numbers(bounds)));
    intervals.learn(bounds, Vector{rng.normal()});
  }
}

TEST(Intervals, WhatCannotBeUsedChangesNothing) {
  Rng rng(9);
  Intervals intervals(2);
  for (std::size_t t = 0; t < 100; ++t) {
    const std::vector<Interval> bounds = [&] {
      const auto view = intervals.around(Vector{0, 1}, Vector{1, nan});
      return std::vector(view.begin(), view.end());
    }();
    const auto before = state_of(intervals);
    for (const double bad : {nan, infinity, -infinity, 1e200})
      intervals.learn(bounds, Vector{bad, bad});
    intervals.learn(bounds, Vector{1});
    intervals.learn(std::span(bounds).first(1), Vector{1, 2});
    intervals.learn({}, {});
    for (const double bad : {nan, infinity, 1e200}) {
      const auto none = intervals.around(Vector{bad, bad});
      ASSERT_TRUE(std::isnan(none[0].low) && std::isnan(none[0].high));
      const std::vector<Interval> copy(none.begin(), none.end());
      intervals.learn(copy, Vector{0, 0});
    }
    ASSERT_TRUE(std::isnan(intervals.around({})[0].low));
    ASSERT_EQ(state_of(intervals), before);
    // One output's missing target is no concern of the other.
    intervals.learn(bounds, Vector{rng.normal(), t % 2 == 0 ? nan : rng.normal()});
  }
  EXPECT_EQ(intervals.counted(0), 90U);
  EXPECT_EQ(intervals.counted(1), 40U);
  for (const double spread : {0.0, -1.0, nan, infinity, 1e-320, 1e308})
    for (const Interval& b : intervals.around(Vector{0, 0}, Vector{spread, spread}))
      EXPECT_TRUE(b.low < b.high && std::isfinite(b.high - b.low)) << spread;
}

// Predictions that are right need no width; when they are wrong again, bounds are found soon.
TEST(Intervals, WithoutErrors) {
  Intervals intervals(1);
  Rng rng(10);
  for (std::size_t t = 0; t < 3000; ++t) {
    const auto bounds = intervals.around(Vector{5});
    if (t >= 10) {
      EXPECT_EQ(bounds[0].low, 5);
      EXPECT_EQ(bounds[0].high, 5);
    }
    intervals.learn(bounds, Vector{5});
  }
  EXPECT_EQ(intervals.coverage(), 1);
  std::size_t missed = 0;
  for (std::size_t t = 0; t < 500; ++t) {
    const auto bounds = intervals.around(Vector{5});
    const Vector d{5 + rng.normal()};
    missed += bounds[0].holds(d[0]) ? 0 : 1;
    intervals.learn(bounds, d);
  }
  EXPECT_LT(missed, 100U);
}

// ---- Snapshots.

TEST(Intervals, GoOnFromASnapshot) {
  Rng rng(11);
  Intervals intervals(2, 0.8);
  Intervals stopped(2, 0.8);
  for (std::size_t t = 0; t < 1500; ++t) {
    if (rng.below(20) == 0) {
      const auto bytes = state_of(stopped);
      stopped = from_state(bytes, 2, 0.8);
      ASSERT_EQ(state_of(stopped), bytes);
    }
    const Vector d_hat{rng.normal(), 1e5 * rng.normal()};
    const Vector spread{std::exp(rng.normal()), nan};
    const auto bounds = intervals.around(d_hat, spread);
    ASSERT_TRUE(same_bits(numbers(stopped.around(d_hat, spread)), numbers(bounds)));
    const Vector d{d_hat[0] + spread[0] * rng.normal(), t % 3 == 0 ? nan : rng.normal()};
    intervals.learn(bounds, d);
    stopped.learn(bounds, d);
  }
  EXPECT_EQ(state_of(stopped), state_of(intervals));
  stopped.reset();
  EXPECT_EQ(state_of(stopped), state_of(Intervals(2, 0.8)));
}

TEST(Intervals, BoundsCanWaitInASnapshot) {
  Intervals intervals(1);
  for (const double d_hat : {nan, 1.0, 2.0, 3.0}) {
    std::vector<Interval> bounds{intervals.around(Vector{d_hat}, Vector{0.5})[0]};
    std::vector<Interval> again(1);
    test::set_state(again[0], test::state_of(bounds[0]));
    EXPECT_TRUE(same_bits(numbers(again), numbers(bounds)));
    intervals.learn(again, Vector{0});
  }
}

TEST(Intervals, AHostileStateIsRefusedOrHarmless) {
  Rng rng(12);
  Intervals intervals(1);
  for (std::size_t t = 0; t < 300; ++t) {
    const auto bounds = intervals.around(Vector{0}, Vector{std::exp(rng.normal())});
    intervals.learn(bounds, Vector{rng.normal()});
  }
  const auto sound = state_of(intervals);
  EXPECT_THROW(from_state(sound, 1, 0.95), SnapshotError);
  EXPECT_THROW(from_state(sound, 2, 0.9), SnapshotError);
  for (std::size_t size = 0; size < sound.size(); size += 8)
    EXPECT_THROW(from_state(std::span(sound).first(size), 1, 0.9), SnapshotError);
  EXPECT_THROW(
      {
        auto longer = sound;
        longer.resize(sound.size() + 8);
        from_state(longer, 1, 0.9);
      },
      SnapshotError);

  std::size_t refused = 0;
  for (std::size_t word = 0; word < sound.size() / 8; ++word)
    for (const double hostile : {nan, infinity, -1.0, 1e300, -1e300, 1e-300, 0.3}) {
      auto bytes = sound;
      std::memcpy(bytes.data() + 8 * word, &hostile, sizeof hostile);
      try {
        Intervals loaded = from_state(bytes, 1, 0.9);
        for (int t = 0; t < 20; ++t) {
          const auto bounds = loaded.around(Vector{0}, Vector{1});
          ASSERT_TRUE(bounds[0].low <= bounds[0].high) << word << ": " << hostile;
          loaded.learn(bounds, Vector{rng.normal()});
        }
        state_of(loaded);
      } catch (const SnapshotError&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, sound.size() / 8 * 4);
}

}  // namespace
}  // namespace kalstream
