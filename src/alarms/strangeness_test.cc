// Strangeness: what it must notice and what not, what it must not forget, and manners.
#include "kalstream/strangeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/rng.h"
#include "kalstream/surprise.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::state_of;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A series that is predicted by 0, by the mean of all values so far, or by the last one.
class Series {
 public:
  enum Forecast { zero, mean, last };
  explicit Series(Forecast by = mean) : by_(by) {}

  Strangeness::Look next(double d) {
    const auto expected = surprise_.expect(Vector{d_hat_});
    const double p = surprise_.of(expected, Vector{d})[0];
    strangeness_.take(Vector{d_hat_}, Vector{p}, Vector{d});
    surprise_.learn(expected, Vector{d});
    ++rows_;
    if (by_ == last) d_hat_ = d;
    if (by_ == mean) d_hat_ += (d - d_hat_) / rows_;
    return strangeness_.looks()[0];
  }

  /// So many values; the number of them that were told with 1 or more.
  int told(int rows, const std::function<double(int)>& value) {
    int n = 0;
    for (int t = 0; t < rows; ++t) n += next(value(t)).strangeness >= 1 ? 1 : 0;
    return n;
  }

 private:
  Forecast by_;
  Surprise surprise_{1};
  Strangeness strangeness_{1};
  double d_hat_ = 0;
  double rows_ = 0;
};

TEST(Strangeness, OrdinaryValuesAreNotStrange) {
  Rng rng(1);
  Series noise;
  EXPECT_LE(noise.told(20'000, [&](int) { return rng.normal(); }), 2);
  Series walk(Series::last);
  double place = 0;
  EXPECT_LE(walk.told(20'000, [&](int) { return place += rng.normal(); }), 12);
  Series trend(Series::last);
  EXPECT_LE(trend.told(20'000, [&](int t) { return 0.01 * t + rng.normal(); }), 12);
}

TEST(Strangeness, TheScaleIsTheSameForEverySeries) {
  for (const double unit : {1e-90, 1.0, 1e90}) {
    Rng rng(2);
    Series series;
    series.told(2000, [&](int) { return unit * rng.normal(); });
    const double found = series.next(20 * unit).strangeness;
    EXPECT_GT(found, 3);
    EXPECT_LT(found, 20);
  }
}

TEST(Strangeness, FurtherIsStranger) {
  double before = 0;
  for (const double d : {6, 8, 12, 18}) {
    Rng rng(3);
    Series series;
    series.told(3000, [&](int) { return rng.normal(); });
    const double found = series.next(d).strangeness;
    EXPECT_GT(found, before) << d;
    before = found;
  }
  EXPECT_GT(before, 1);
}

// A shift that no single value shows.
TEST(Strangeness, ModestChangesAddUp) {
  Rng rng(4);
  Series series;
  series.told(3000, [&](int) { return rng.normal(); });
  const int told = series.told(100, [&](int) { return 2 + 0.5 * rng.normal(); });
  EXPECT_GE(told, 1);
  EXPECT_LE(told, 2);  // again when it is twice as strange
}

TEST(Strangeness, IsToldOnceWhileItLasts) {
  Rng rng(5);
  Series series;
  series.told(5000, [&](int) { return rng.normal(); });
  EXPECT_EQ(series.told(300, [&](int) { return 15 + rng.normal(); }), 1);
}

// The way back from a failure that did not last is no other event.
TEST(Strangeness, ASlowFailureIsToldOnTheWayDown) {
  Rng rng(6);
  Series series(Series::last);
  series.told(6000, [&](int) { return 99 + 0.3 * rng.normal(); });
  const auto falling = [&](int t) { return 99 - 93 * t / 288.0 + 0.3 * rng.normal(); };
  EXPECT_GE(series.told(60, falling), 1);
  series.told(228, [&](int t) { return falling(60 + t); });
  series.told(60, [&](int) { return 6 + 0.3 * rng.normal(); });
  EXPECT_EQ(series.told(300, [&](int) { return 99 + 0.3 * rng.normal(); }), 0);
}

TEST(Strangeness, WhatLastsBecomesUsual) {
  Rng rng(7);
  Series series;
  series.told(2000, [&](int) { return rng.normal(); });
  series.told(2000, [&](int) { return 15 + rng.normal(); });
  EXPECT_EQ(series.told(2000, [&](int) { return 15 + rng.normal(); }), 0);
  EXPECT_EQ(series.next(15).size, 0);
}

TEST(Strangeness, AHugeSpikeDoesNotHideASmallerOne) {
  Rng rng(8);
  Series series(Series::zero);
  series.told(3000, [&](int) { return rng.normal(); });
  EXPECT_GE(series.next(1e6).strangeness, 1);
  series.told(500, [&](int) { return rng.normal(); });
  EXPECT_GE(series.next(30).strangeness, 1);
}

TEST(Strangeness, AStuckValueIsStrangeWhereValuesChange) {
  Rng rng(9);
  Series series;
  series.told(1000, [&](int) { return rng.normal(); });
  EXPECT_EQ(series.told(39, [](int) { return 0.25; }), 0);
  const Strangeness::Look look = series.next(0.25);
  EXPECT_GE(look.strangeness, 1);
  EXPECT_EQ(look.kind, AlarmKind::stuck);
  Series constant;
  EXPECT_EQ(constant.told(5000, [](int) { return 7.0; }), 0);
  Series steps;
  EXPECT_EQ(steps.told(5000, [](int t) { return static_cast<double>(t / 30 % 7); }), 0);
}

// ---- Manners.

TEST(Strangeness, WhatCannotBeUsedChangesNothing) {
  Rng rng(10);
  Strangeness strangeness(1);
  for (int t = 0; t < 300; ++t) {
    const auto before = state_of(strangeness);
    for (const double bad : {nan, std::numeric_limits<double>::infinity(), -1e300}) {
      EXPECT_EQ(strangeness.take(Vector{0}, Vector{0.5}, Vector{bad})[0], 0);
      ASSERT_EQ(state_of(strangeness), before);
    }
    strangeness.take({}, {}, {});
    ASSERT_EQ(state_of(strangeness), before);
    strangeness.take(Vector{0}, Vector{0.5}, Vector{rng.normal()});
  }
  EXPECT_EQ(strangeness.take(Vector{nan}, Vector{nan}, Vector{1e9})[0], 0);
}

TEST(Strangeness, GoesOnFromASnapshotToTheSameBits) {
  Rng rng(11);
  Strangeness whole(2);
  Strangeness other(2);
  for (int t = 0; t < 4000; ++t) {
    const double level = t > 3000 && t < 3200 ? 9 : 0;
    const Vector d_hat{0.1 * rng.normal(), 0};
    const Vector p{rng.uniform(1e-6, 1), rng.uniform(1e-6, 1)};
    const Vector d{level + rng.normal(), t % 100 == 0 ? nan : std::round(rng.normal())};
    if (t % 37 == 0) {
      Strangeness next(2);
      test::set_state(next, state_of(other));
      other = next;
    }
    ASSERT_TRUE(same_bits(whole.take(d_hat, p, d), other.take(d_hat, p, d))) << t;
    ASSERT_EQ(state_of(whole), state_of(other)) << t;
  }
}

TEST(Strangeness, SurvivesAnything) {
  Rng rng(12);
  Strangeness strangeness(1);
  for (int t = 0; t < 20'000; ++t) {
    const double d = std::pow(10, rng.uniform(-110, 99)) * (rng.below(2) == 0 ? 1 : -1);
    const double p = rng.below(5) == 0 ? 0 : rng.uniform(0, 1);
    const double s = strangeness.take(Vector{rng.below(3) == 0 ? d : -d}, Vector{p}, Vector{d})[0];
    ASSERT_TRUE(s >= 0 && s < 1e6) << t;
  }
  const auto bytes = state_of(strangeness);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    auto damaged = bytes;
    for (std::size_t k = 0; k < 8; ++k) damaged[at + k] = std::byte{0xff};
    Strangeness from(1);
    EXPECT_ANY_THROW(test::set_state(from, damaged)) << at;
  }
}

TEST(Strangeness, ResetIsAFreshStart) {
  Rng rng(13);
  Strangeness strangeness(1);
  const auto fresh = state_of(strangeness);
  for (int t = 0; t < 500; ++t) strangeness.take(Vector{0}, Vector{0.1}, Vector{rng.normal()});
  EXPECT_NE(state_of(strangeness), fresh);
  strangeness.reset();
  EXPECT_EQ(state_of(strangeness), fresh);
}

}  // namespace
}  // namespace kalstream
