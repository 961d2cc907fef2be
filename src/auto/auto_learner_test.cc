// Auto on raw streams: units, outliers, changes, gaps; never far behind something simple.
#include "auto/auto_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "data/generators.h"
#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::Stream;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double squared(double e) { return e * e; }

// Few and small experts, where a property needs no more.
LearnerOptions options(std::size_t inputs, const Rule& rule = Auto{.experts = 6}) {
  LearnerOptions o{.network = {}, .rule = rule};
  o.network.inputs = inputs;
  o.network.hidden = 8;
  return o;
}

std::unique_ptr<Learner> make_for(const Stream& stream, const Rule& rule = Auto{.experts = 6}) {
  return make_learner(options(stream.x[0].size(), rule));
}

Stream generated(const char* spec, std::size_t rows) {
  const Dataset data = generate(spec, rows);
  Stream s;
  for (std::size_t t = 0; t < rows; ++t) {
    s.x.emplace_back(data.x(t).begin(), data.x(t).end());
    s.d.emplace_back(data.d(t).begin(), data.d(t).end());
  }
  return s;
}

// A time series, without inputs.
Stream series(std::size_t rows, const std::function<double(double t, Rng& rng)>& next) {
  Rng rng(81);
  Stream s;
  s.x.resize(rows);
  for (std::size_t t = 0; t < rows; ++t) s.d.push_back({next(double(t), rng)});
  return s;
}

Stream noisy_season(std::size_t rows) {
  return series(rows, [](double t, Rng& rng) {
    return 20 + 5 * std::sin(2 * std::numbers::pi * t / 24) + rng.normal();
  });
}

Stream part(const Stream& s, std::size_t from, std::size_t to) {
  const auto cut = [&](const std::vector<Vector>& v) {
    return std::vector<Vector>(v.begin() + std::ptrdiff_t(from), v.begin() + std::ptrdiff_t(to));
  };
  return {cut(s.x), cut(s.d)};
}

// The moments of the first target over the stream.
struct Spread {
  explicit Spread(const Stream& s) {
    for (const Vector& d : s.d) mean += d[0] / double(s.size());
    for (const Vector& d : s.d) deviation += squared(d[0] - mean) / double(s.size());
    deviation = std::sqrt(deviation);
    const auto [low, high] = std::minmax_element(s.d.begin(), s.d.end());
    range = (*high)[0] - (*low)[0];
  }
  double mean = 0;
  double deviation = 0;
  double range = 0;
};

// Predicts and learns; the predictions.
Vector run(Learner& learner, const Stream& s) {
  Vector d_hat;
  for (std::size_t t = 0; t < s.size(); ++t) {
    d_hat.push_back(learner.predict(s.x[t])[0]);
    learner.learn(s.x[t], s.d[t]);
  }
  return d_hat;
}

double mean_squared_error(const Stream& s, const Vector& d_hat, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t t = from; t < to; ++t) sum += squared(s.d[t][0] - d_hat[t]);
  return sum / double(to - from);
}

double mean_squared_error(const Stream& s, const Rule& rule, std::size_t from) {
  return mean_squared_error(s, run(*make_for(s, rule), s), from, s.size());
}

const char* const three_streams[] = {"friedman", "sine", "narma10"};

// ---- Units -------------------------------------------------------------------------------------

Stream in_other_units(Stream s, double x_scale, double x_shift, double d_scale, double d_shift) {
  for (Vector& x : s.x)
    for (double& v : x) v = x_scale * v + x_shift;
  for (Vector& d : s.d)
    for (double& v : d) v = d_scale * v + d_shift;
  return s;
}

TEST(AutoUnits, PowersOfTwoChangeNoBit) {
  for (const char* spec : three_streams) {
    const Stream s = generated(spec, 400);
    const Stream scaled = in_other_units(s, 0x1p30, 0, 0x1p-23, 0);
    const Vector expected = run(*make_for(s), s);
    Vector d_hat = run(*make_for(scaled), scaled);
    for (double& v : d_hat) v *= 0x1p23;
    EXPECT_TRUE(same_bits(d_hat, expected)) << spec;
  }
}

// d = −3 + 1e-7·… has nine digits left; learning makes more of the rounding as time goes by.
TEST(AutoUnits, AreOfNoConsequence) {
  for (const char* spec : three_streams) {
    const Stream s = generated(spec, 1000);
    const Stream raw = in_other_units(s, 1e9, 5e9, 1e-7, -3);
    const Vector expected = run(*make_for(s), s);
    Vector d_hat = run(*make_for(raw), raw);
    for (double& v : d_hat) v = (v + 3) / 1e-7;
    for (std::size_t t = 1; t < 200; ++t) ASSERT_NEAR(d_hat[t], expected[t], 1e-3) << spec << t;
    EXPECT_NEAR(
        mean_squared_error(s, d_hat, 200, 1000) / mean_squared_error(s, expected, 200, 1000), 1,
        0.1)
        << spec;
  }
}

// Also a series far from 0 whose first targets are missing.
TEST(AutoUnits, ZeroIsNoTarget) {
  const Stream s = series(100, [](double, Rng& rng) { return 1e6 + rng.normal(); });
  const auto learner = make_for(s);
  for (int t = 0; t < 5; ++t) EXPECT_EQ(learner->advance({}).status, StepStatus::missing);
  const Vector d_hat = run(*learner, s);
  for (std::size_t t = 1; t < s.size(); ++t) ASSERT_NEAR(d_hat[t], 1e6, 10) << t;
}

TEST(AutoRange, HoldsEveryPrediction) {
  for (const Stream& s :
       {generated("narma10", 600), noisy_season(600),
        series(600, [w = 0.0](double, Rng& rng) mutable { return w += rng.normal(); })}) {
    const auto learner = make_for(s);
    double low = s.d[0][0];
    double high = low;
    Vector ahead(5);
    const Vector future(5 * s.x[0].size(), 3.0);
    learner->learn(s.x[0], s.d[0]);
    for (std::size_t t = 1; t < s.size(); ++t) {
      const double more = 0.1 * (high - low) + 1e-12 * (std::abs(low) + std::abs(high));
      const auto expect_within = [&](double v) {
        ASSERT_TRUE(v >= low - more && v <= high + more) << t << ": " << v;
      };
      expect_within(learner->predict(s.x[t])[0]);
      ASSERT_TRUE(learner->forecast(5, future, ahead));
      for (const double v : ahead) expect_within(v);
      learner->learn(s.x[t], s.d[t]);
      low = std::min(low, s.d[t][0]);
      high = std::max(high, s.d[t][0]);
    }
  }
}

// A series that rests on a value and jumps: the last value is hard to beat, and is not missed.
TEST(AutoSteps, RestsAndJumpsAreFollowedAtOnce) {
  const Stream s = series(2000, [v = 0.0](double, Rng& rng) mutable {
    return v = rng.uniform() < 0.05 ? 10 * rng.normal() : v;
  });
  double last = 0;
  for (std::size_t t = 500; t < s.size(); ++t) last += squared(s.d[t][0] - s.d[t - 1][0]) / 1500;
  EXPECT_LT(mean_squared_error(s, run(*make_for(s), s), 500, 2000), 1.03 * last);
}

TEST(AutoRange, IsLeftWhenTheStreamLeavesIt) {
  const Stream s = series(700, [](double t, Rng& rng) {
    return (t < 500 ? 0 : 50) + rng.normal();  // deviations
  });
  const Vector d_hat = run(*make_for(s), s);
  EXPECT_LT(mean_squared_error(s, d_hat, 550, 700), 4);
}

// ---- Outliers and changes ----------------------------------------------------------------------

TEST(AutoOutlier, OneIsForgotten) {
  for (const char* spec : three_streams) {
    const Stream s = generated(spec, 551);
    const Spread spread(s);
    for (const double sign : {1.0, -1.0}) {
      const auto wise = make_for(s);
      run(*wise, part(s, 0, 500));
      const auto fooled = wise->clone();
      wise->learn(s.x[500], s.d[500]);
      const Vector outlier{s.d[500][0] + sign * 1e6 * spread.deviation};
      EXPECT_EQ(fooled->learn(s.x[500], outlier).status, StepStatus::gated);
      const Vector expected = run(*wise, part(s, 501, 551));
      const Vector d_hat = run(*fooled, part(s, 501, 551));
      for (std::size_t t = 0; t < 50; ++t)
        ASSERT_NEAR(d_hat[t], expected[t], 0.05 * spread.range) << spec << ", " << t;
    }
  }
}

TEST(AutoOutlier, OfAnInputIsForgotten) {
  const Stream s = generated("friedman", 551);
  const Spread spread(s);
  const auto wise = make_for(s);
  run(*wise, part(s, 0, 500));
  const auto fooled = wise->clone();
  wise->learn(s.x[500], s.d[500]);
  Vector x = s.x[500];
  x[2] = 1e9;
  EXPECT_EQ(fooled->learn(x, s.d[500]).status, StepStatus::gated);
  const Vector expected = run(*wise, part(s, 501, 551));
  const Vector d_hat = run(*fooled, part(s, 501, 551));
  for (std::size_t t = 0; t < 50; ++t) ASSERT_NEAR(d_hat[t], expected[t], 0.05 * spread.range) << t;
}

// The second in a row is believed, as it is on the same side. At a level a million deviations away
// the last value is at home at once; what else counts a little stays at the old one until the
// moments have moved.
TEST(AutoOutlier, AWholeNewLevelIsFollowed) {
  for (const char* spec : three_streams) {
    Stream s = generated(spec, 1000);
    const double shift = 1e6 * Spread(s).deviation;
    for (std::size_t t = 500; t < s.size(); ++t) s.d[t][0] += shift;
    const auto learner = make_for(s);
    for (std::size_t t = 0; t < s.size(); ++t) {
      const double e = std::abs(s.d[t][0] - learner->predict(s.x[t])[0]) / shift;
      const StepStatus status = learner->learn(s.x[t], s.d[t]).status;
      if (t == 500) {
        ASSERT_EQ(status, StepStatus::gated);
      } else if (t == 505) {  // after the first samples of the new level
        ASSERT_EQ(status, StepStatus::applied);
      }
      if (t >= 600) {
        ASSERT_LT(e, 0.3) << spec << ", " << t;
      }
      if (t >= 750) {
        ASSERT_LT(e, 0.01) << spec << ", " << t;
      }
    }
  }
}

// Samples until the mean over fifty of them of the squared error is below `level`.
std::size_t time_to(double level, const Stream& s, const Vector& d_hat) {
  for (std::size_t t = 50; t <= s.size(); ++t)
    if (mean_squared_error(s, d_hat, t - 50, t) < level) return t;
  return s.size() + 1;
}

// After a change it recovers in at most two and a half times what a new learner needs: that one has
// no change to find first.
void expect_recovery(const Stream& s, std::size_t change, std::size_t end) {
  const Stream after = part(s, change, end);
  const auto learner = make_for(s);
  run(*learner, part(s, 0, change));
  const Vector old = run(*learner, after);
  const Vector fresh = run(*make_for(s), after);
  const double level = 2 * mean_squared_error(after, fresh, after.size() - 200, after.size());
  const std::size_t needed = time_to(level, after, fresh);
  ASSERT_LE(needed, after.size());
  EXPECT_LE(2 * time_to(level, after, old), 5 * needed);
}

TEST(AutoChange, OfAFunction) {
  for (const char* spec :
       {"friedman?drift=abrupt&period=1000", "friedman?drift=abrupt&period=1000&seed=2"})
    expect_recovery(generated(spec, 2000), 1000, 2000);
}

// Rows at which the frequency changes visibly, and the last before the next time.
TEST(AutoChange, OfAFrequency) {
  expect_recovery(generated("sine?period=500&seed=2", 3500), 2643, 3500);
  expect_recovery(generated("sine?period=500&seed=3", 2180), 1762, 2180);
  expect_recovery(generated("sine?period=500&seed=4", 2250), 984, 2250);
}

// A time without any spread, as a sensor before it is switched on, is soon made up for.
TEST(AutoChange, AfterAConstantStart) {
  const Stream season = noisy_season(1500);
  const double level = mean_squared_error(season, Auto{.experts = 6}, 500);
  for (const std::size_t constant : {5, 20, 300}) {
    Stream s = series(constant, [](double, Rng&) { return 20; });
    for (std::size_t t = 0; t < season.size(); ++t) {
      s.x.emplace_back();
      s.d.push_back(season.d[t]);
    }
    EXPECT_LT(mean_squared_error(s, Auto{.experts = 6}, constant + 500), 1.4 * level) << constant;
  }
}

// ---- Wild samples -------------------------------------------------------------------------------

bool is_in_doubt(const Learner& learner) {
  return dynamic_cast<const AutoLearner&>(learner).is_in_doubt();
}

constexpr std::size_t wild_from = 800;

// Two hundred wild samples: targets, inputs, or now these and now those.
Stream disturbed(std::size_t rows, int kind) {
  Stream s = generated("friedman", rows);
  for (std::size_t t = wild_from; t < wild_from + 200; ++t) {
    const double wild = t % 4 < 2 ? 1e4 : -1e4;
    if (kind == 0 || (kind == 2 && t % 2 == 0)) s.d[t][0] = wild;
    if (kind == 1 || (kind == 2 && t % 2 == 1)) s.x[t][0] = 1e6 * wild;
  }
  return s;
}

TEST(AutoWild, SamplesLeaveNoTrace) {
  constexpr std::size_t rows = 3000;
  const Stream calm = generated("friedman", rows);
  const double usual = mean_squared_error(calm, run(*make_for(calm), calm), 2000, rows);
  for (const int kind : {0, 1, 2}) {
    const Stream s = disturbed(rows, kind);
    const auto learner = make_for(s);
    const Vector d_hat = run(*learner, s);
    EXPECT_FALSE(is_in_doubt(*learner)) << kind;
    EXPECT_EQ(learner->samples(), rows);
    EXPECT_LT(mean_squared_error(s, d_hat, 2000, rows), 1.2 * usual) << kind;
  }
}

// A level that stays is learnt, and the doubt about a single wild target passes.
TEST(AutoWild, WhatStaysIsLearnt) {
  const Stream calm = generated("friedman", 5000);
  const double usual = mean_squared_error(calm, run(*make_for(calm), calm), 1500, 2000);
  Stream level = calm;
  for (std::size_t t = wild_from; t < level.size(); ++t) level.d[t][0] += 1e4;
  const auto at_a_level = make_for(level);
  EXPECT_LT(mean_squared_error(level, run(*at_a_level, level), 1500, 2000), 2 * usual);
  EXPECT_FALSE(is_in_doubt(*at_a_level));

  const auto learner = make_for(calm);
  for (std::size_t t = 0; t < wild_from + 300; ++t) {
    learner->learn(calm.x[t], t == wild_from ? Vector{1e6} : calm.d[t]);
    ASSERT_EQ(is_in_doubt(*learner), t >= wild_from && t < wild_from + 256) << t;
  }
}

// What stands in for inputs that are missing is not spoilt either: by the first values, or later.
TEST(AutoWild, SamplesLeaveNoTraceInGaps) {
  constexpr std::size_t rows = 3000;
  Stream gaps = generated("friedman", rows);
  Rng rng(5);
  for (Vector& x : gaps.x)
    for (double& v : x)
      if (rng.uniform() < 0.1) v = std::numeric_limits<double>::quiet_NaN();
  const double usual = mean_squared_error(gaps, run(*make_for(gaps), gaps), 2000, rows);
  for (const std::size_t first : {std::size_t{0}, wild_from}) {
    Stream s = gaps;
    for (std::size_t t = first; t < first + (first == 0 ? 2 : 200); ++t)
      for (double& v : s.x[t]) v = 1e50;
    EXPECT_LT(mean_squared_error(s, run(*make_for(s), s), 2000, rows), 1.2 * usual) << first;
  }
}

TEST(AutoWild, LooksTheSameFromASnapshot) {
  const Stream s = disturbed(1500, 0);
  const auto learner = make_for(s);
  auto stopped = learner->clone();
  bool was_in_doubt = false;
  for (std::size_t t = 0; t < s.size(); ++t) {
    if (t % 50 == 17) stopped = load(save(*stopped));
    ASSERT_EQ(stopped->predict(s.x[t])[0], learner->predict(s.x[t])[0]) << t;
    ASSERT_EQ(is_in_doubt(*stopped), is_in_doubt(*learner)) << t;
    stopped->learn(s.x[t], s.d[t]);
    learner->learn(s.x[t], s.d[t]);
    was_in_doubt = was_in_doubt || is_in_doubt(*learner);
  }
  EXPECT_TRUE(was_in_doubt);
}

// ---- Rare events, quiet stretches, seasons

// Once in 700 samples an input announces an event far beyond all other targets. Only the first can
// be a surprise.
TEST(AutoEvents, AreForetoldByWhatAnnouncesThem) {
  Rng rng(83);
  const auto learner = make_learner(options(2));
  double worst = 0;
  std::size_t events = 0;
  for (int t = 0; t < 4000; ++t) {
    const bool event = t % 700 == 650;
    const Vector x{event ? 1.0 : 0.0, rng.normal()};
    const Vector d{0.5 * x[1] + (event ? 300 : 0) + 0.3 * rng.normal()};
    const double e = std::abs(learner->predict(x)[0] - d[0]);
    if (event && events++ > 0) worst = std::max(worst, e);
    learner->learn(x, d);
  }
  EXPECT_LT(worst, 0.2 * 300);
}

// A target that stood still for long moves to a new level: the last value is right from the second
// sample on.
TEST(AutoShift, AQuietStretchDoesNotFreezeTheBlend) {
  const auto learner = make_learner(options(0));
  Rng rng(84);
  for (int t = 0; t < 1500; ++t) {
    const Vector d{t < 300 ? 5 + rng.normal() : t < 1400 ? 5.0 : 9.0};
    const double e = std::abs(learner->predict({})[0] - d[0]);
    if (t >= 1403) {
      ASSERT_LT(e, 0.6) << t;
    }
    learner->learn({}, d);
  }
}

TEST(AutoSeasons, AreFoundOrTold) {
  const Stream s = noisy_season(1200);
  const auto found = make_for(s);
  const auto told = make_for(s);
  const auto none = make_for(s);
  const double periods[] = {24, 168};
  told->expect_periods(periods);
  none->expect_periods({});
  for (std::size_t t = 0; t < s.size(); ++t)
    for (Learner* one : {found.get(), told.get(), none.get()}) one->learn(s.x[t], s.d[t]);
  ASSERT_EQ(found->periods().size(), 1U);
  EXPECT_EQ(found->periods()[0], 24);
  EXPECT_TRUE(same_bits(told->periods(), periods));
  EXPECT_TRUE(none->periods().empty());
  told->reset();
  EXPECT_TRUE(same_bits(told->periods(), periods));
  found->reset();
  EXPECT_TRUE(found->periods().empty());
}

// ---- Against simple learners -------------------------------------------------------------------

TEST(AutoAgainstBaselines, IsNeverTwoPercentBehind) {
  std::vector<std::pair<std::string, Stream>> streams;
  for (const char* spec : {"friedman", "sine", "narma10", "mackey-glass", "kin-like"})
    streams.emplace_back(spec, generated(spec, 3000));
  streams.emplace_back("noise", series(3000, [](double, Rng& rng) { return 1000 + rng.normal(); }));
  streams.emplace_back("random walk", series(3000, [w = 0.0](double, Rng& rng) mutable {
                         return w += rng.normal();
                       }));
  streams.emplace_back("autoregression", series(3000, [w = 0.0](double, Rng& rng) mutable {
                         return w = 0.8 * w + rng.normal();
                       }));
  streams.emplace_back("trend",
                       series(3000, [](double t, Rng& rng) { return 0.01 * t + rng.normal(); }));
  streams.emplace_back("season", noisy_season(3000));
  for (const auto& [name, s] : streams) {
    const double mine = mean_squared_error(s, Auto{.experts = 6}, 500);
    for (const Rule& rule : {Rule(Rls{}), Rule(Ar{}), Rule(Naive{}), Rule(Mean{})})
      EXPECT_LT(mine, 1.02 * mean_squared_error(s, rule, 500)) << name << ", rule " << rule.index();
  }
}

// ---- Time series and gaps ----------------------------------------------------------------------

TEST(AutoForecast, OfASeasonBeatsTheLastValue) {
  const Stream s = noisy_season(1500);
  const auto learner = make_for(s);
  constexpr std::size_t horizon = 12;
  Vector ahead(horizon);
  double mine = 0;
  double last = 0;
  for (std::size_t t = 0; t + horizon < s.size(); ++t) {
    learner->learn({}, s.d[t]);
    if (t < 500 || t % 25 != 0) continue;
    ASSERT_TRUE(learner->forecast(horizon, {}, ahead));
    for (std::size_t k = 0; k < horizon; ++k) {
      mine += squared(s.d[t + 1 + k][0] - ahead[k]);
      last += squared(s.d[t + 1 + k][0] - s.d[t][0]);
    }
  }
  EXPECT_LT(mine, 0.1 * last);
}

// Without inputs: what the contract's suite, which has always some, cannot check.
TEST(AutoSeries, KeepsTheContract) {
  const Stream s = noisy_season(200);
  const auto learner = make_for(s);
  const auto quiet = learner->clone();
  Vector ahead(4);
  for (std::size_t t = 0; t < s.size(); ++t) {
    EXPECT_EQ(learner->learn(Vector{1}, s.d[t]).status, StepStatus::rejected_input);
    EXPECT_EQ(learner->learn({}, Vector{nan}).status, StepStatus::rejected_input);
    EXPECT_EQ(learner->advance(Vector{1}).status, StepStatus::rejected_input);
    learner->forecast(4, {}, ahead);
    ASSERT_TRUE(same_bits(learner->predict({}), quiet->predict({}))) << t;
    const auto copy = quiet->clone();
    ASSERT_TRUE(same_bits(learner->learn({}, s.d[t]).weights, quiet->learn({}, s.d[t]).weights));
    ASSERT_TRUE(same_bits(copy->learn({}, s.d[t]).weights, quiet->state().weights));
  }
  const Vector expected = run(*make_for(s), s);
  learner->reset();
  EXPECT_TRUE(same_bits(run(*learner, s), expected));
}

TEST(AutoGaps, DoLittleHarm) {
  for (const Stream& s :
       {generated("friedman", 1500), generated("sine", 1500), noisy_season(1500)}) {
    const auto whole = make_for(s);
    const auto gaps = make_for(s);
    const Vector expected = run(*whole, s);
    const Spread spread(s);
    Vector d_hat;
    for (std::size_t t = 0; t < s.size(); ++t) {
      d_hat.push_back(gaps->predict(s.x[t])[0]);
      ASSERT_LT(std::abs(d_hat.back() - spread.mean), t < 4 ? 30 : 1.2 * spread.range) << t;
      const bool missing = t < 3 || t % 4 == 1 || (t >= 600 && t < 700);
      const StepReport report = missing ? gaps->advance(s.x[t]) : gaps->learn(s.x[t], s.d[t]);
      ASSERT_EQ(report.status == StepStatus::missing, missing);
    }
    EXPECT_LT(mean_squared_error(s, d_hat, 800, 1500),
              2 * mean_squared_error(s, expected, 800, 1500));
  }
}

// ---- No look-ahead -----------------------------------------------------------------------------

// Targets from T on change no prediction up to and including T's, through replay and through
// learning again with other scales, too.
TEST(AutoLooksNotAhead, AtAnyTime) {
  for (const Stream& s : {generated("friedman", 310), noisy_season(310)}) {
    const Vector expected = run(*make_for(s, Auto{}), s);
    for (const std::size_t T : {0, 1, 3, 4, 5, 8, 31, 32, 63, 64, 65, 66, 300}) {
      Stream changed = s;
      for (std::size_t t = T; t < s.size(); ++t) changed.d[t][0] = 7 - 2 * s.d[t][0];
      const Vector d_hat = run(*make_for(s, Auto{}), part(changed, 0, T + 2));
      EXPECT_TRUE(same_bits(std::span(d_hat).first(T + 1), std::span(expected).first(T + 1))) << T;
      EXPECT_NE(d_hat[T + 1], expected[T + 1]) << T;
    }
  }
}

// ---- Networks that sleep, and inputs that are chosen --------------------------------------------

std::size_t asleep(const Learner& learner) {
  const Ensemble& all = dynamic_cast<const AutoLearner&>(learner).better();
  std::size_t n = 0;
  for (std::size_t j = 0; j < all.experts(); ++j) n += all.is_awake(j) ? 0 : 1;
  return n;
}

// A linear stream: no network adds to what the linear model knows.
Stream linear_stream(std::size_t inputs, std::size_t rows) {
  Rng rng(82);
  Stream s;
  for (std::size_t t = 0; t < rows; ++t) {
    s.x.push_back(test::normals(rng, inputs));
    s.d.push_back({s.x[t][0] - 2 * s.x[t][1] + 0.5 * rng.normal()});
  }
  return s;
}

TEST(AutoSleep, NetworksThatAddNothingSleepAndWakeAfterAChange) {
  Stream s = linear_stream(3, 4000);
  const auto learner = make_for(s);
  run(*learner, part(s, 0, 3000));
  EXPECT_GT(asleep(*learner), 0U);
  for (std::size_t t = 3000; t < s.size(); ++t) s.d[t][0] = 3 * std::sin(2 * s.x[t][0]) * s.x[t][2];
  std::size_t least = learner->state().networks;
  for (std::size_t t = 3000; t < s.size() && least > 0; ++t) {
    learner->learn(s.x[t], s.d[t]);
    least = std::min(least, asleep(*learner));
  }
  EXPECT_EQ(least, 0U);
}

TEST(AutoSleep, GoesOnFromASnapshotAndACopyToTheBit) {
  const Stream s = linear_stream(3, 2600);
  const auto whole = make_for(s);
  run(*whole, part(s, 0, 2500));
  ASSERT_GT(asleep(*whole), 0U);
  const auto loaded = load(save(*whole));
  const auto copied = whole->clone();
  const Vector expected = run(*whole, part(s, 2500, 2600));
  EXPECT_TRUE(same_bits(run(*loaded, part(s, 2500, 2600)), expected));
  EXPECT_TRUE(same_bits(run(*copied, part(s, 2500, 2600)), expected));
  EXPECT_EQ(asleep(*loaded), asleep(*whole));
  const Ensemble& learner = dynamic_cast<const AutoLearner&>(*whole).better();
  for (std::size_t j = 0; j < learner.experts(); ++j)
    EXPECT_TRUE(learner.is_awake(j) || learner.expert(j) == nullptr)
        << j;  // nothing is kept of them
}

TEST(AutoSleep, BeginsAnewWithAllAwake) {
  const Stream s = linear_stream(3, 2500);
  const auto learner = make_for(s);
  const Vector first = run(*learner, s);
  ASSERT_GT(asleep(*learner), 0U);
  learner->reset();
  EXPECT_EQ(asleep(*learner), 0U);
  EXPECT_TRUE(same_bits(run(*learner, s), first));
}

// Four inputs of fifty matter.
Stream wide_stream(std::size_t rows) {
  Rng rng(83);
  Stream s;
  for (std::size_t t = 0; t < rows; ++t) {
    const Vector& x = s.x.emplace_back(test::normals(rng, 50));
    s.d.push_back(
        {x[45] + std::abs(x[12]) + x[31] * x[31] - std::sin(2 * x[7]) + 0.1 * rng.normal()});
  }
  return s;
}

// A linear model of all inputs cannot know what the chosen ones tell beyond it.
TEST(AutoWide, IsBetterByWhatItChooses) {
  const Stream s = wide_stream(1500);
  const double of_linear = mean_squared_error(s, Rls{}, 300);
  EXPECT_LT(mean_squared_error(s, Auto{.experts = 6}, 300), 0.8 * of_linear);
}

TEST(AutoWide, GoesOnFromASnapshotToTheBit) {
  const Stream s = wide_stream(400);
  const auto whole = make_for(s);
  auto stopped = make_for(s);
  for (std::size_t t = 0; t < s.size(); ++t) {
    if (t % 60 == 17) stopped = load(save(*stopped));
    ASSERT_TRUE(same_bits(stopped->predict(s.x[t]), whole->predict(s.x[t]))) << t;
    stopped->learn(s.x[t], s.d[t]);
    whole->learn(s.x[t], s.d[t]);
  }
}

}  // namespace
}  // namespace kalstream
