#include "auto/series/smoothing_panel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/archive.h"
#include "core/rng.h"

namespace kalstream {
namespace {

constexpr double season[] = {3, -1, -4, 2, 5, -5, 1, 0, -2, 4, -3, 0};

struct Panel {
  explicit Panel(std::size_t period) { panel.set_period(period); }
  void learn(double y) {
    past.push(y);
    panel.catch_up(past);
  }
  LongPast past;
  SmoothingPanel panel;
};

// Two years of months are enough, where ever the level and the trend are.
TEST(SmoothingPanel, TrendAndSeasonAreFoundInTwoYears) {
  const auto y = [](std::size_t t) { return 1000 + 2 * double(t) + season[t % 12]; };
  Panel p(12);
  for (std::size_t t = 0; t < 26; ++t) p.learn(y(t));
  EXPECT_NEAR(p.panel.predict(), y(26), 0.5);
  p.panel.start_forecast();
  for (std::size_t t = 26; t < 50; ++t) EXPECT_NEAR(p.panel.forecast_next(), y(t), 1) << t;
}

// A season that grows with the level is one of the logarithm.
TEST(SmoothingPanel, SeasonsMayMultiply) {
  const auto y = [](std::size_t t) {
    return std::exp(3 + 0.02 * double(t) + 0.1 * season[t % 12]);
  };
  Panel p(12);
  for (std::size_t t = 0; t < 36; ++t) p.learn(y(t));
  p.panel.start_forecast();
  for (std::size_t t = 36; t < 48; ++t) EXPECT_NEAR(p.panel.forecast_next() / y(t), 1, 0.02) << t;
}

// Values below zero have none, and are foretold all the same.
TEST(SmoothingPanel, NotEveryTargetHasALogarithm) {
  Panel p(4);
  Rng rng(1);
  double error = 0;
  for (std::size_t t = 0; t < 100; ++t) {
    const double y = season[t % 4] + 0.1 * rng.normal();
    if (t >= 50) error += std::abs(p.panel.predict() - y) / 50;
    p.learn(y);
  }
  EXPECT_LT(error, 0.12);
}

// Noise around a level is forecast by its mean, a random walk by its last value.
TEST(SmoothingPanel, GainsAreThoseOfTheSeries) {
  Panel noise(0), walk(0);
  Rng rng(2);
  double level = 0, mean = 0;
  for (int t = 0; t < 300; ++t) {
    const double e = rng.normal();
    noise.learn(e);
    mean += e / 300;
    level += rng.normal();
    walk.learn(level);
  }
  EXPECT_NEAR(noise.panel.predict(), mean, 0.2);
  EXPECT_NEAR(walk.panel.predict(), level, 0.2);
}

// A period that is found later is learnt from the first value on, in portions.
TEST(SmoothingPanel, CatchesUpToTheSameBits) {
  Panel told(12), found(0);
  Rng rng(3);
  for (std::size_t t = 0; t < 200; ++t) {
    const double y = 20 + season[t % 12] + rng.normal();
    told.learn(y);
    found.learn(y);
    if (t == 150) {
      found.panel.set_period(12);
      EXPECT_TRUE(std::isnan(found.panel.predict()));
    }
  }
  EXPECT_EQ(told.panel.predict(), found.panel.predict());
}

// Values that are missing are steps of a forecast.
TEST(SmoothingPanel, GapsArePassedAsForecasts) {
  Panel p(4);
  Rng rng(5);
  for (std::size_t t = 0; t < 40; ++t) p.learn(10 + season[t % 4] + rng.normal());
  Panel ahead = p;
  ahead.panel.start_forecast();
  for (int lead = 0; lead < 10; ++lead) {
    EXPECT_EQ(ahead.panel.forecast_next(), p.panel.predict()) << lead;
    p.panel.advance();
    p.past.push(0);  // a guess, which counts for nothing
  }
  p.learn(10 + season[50 % 4]);
  EXPECT_NEAR(p.panel.predict(), 10 + season[51 % 4], 2);
}

TEST(SmoothingPanel, RetiresAfterSomeHundredSamples) {
  Panel p(0);
  for (std::size_t t = 0; t <= SmoothingPanel::most_samples; ++t) {
    EXPECT_EQ(std::isnan(p.panel.predict()), t == 0) << t;
    p.learn(std::sin(double(t)));
  }
  EXPECT_TRUE(std::isnan(p.panel.predict()));
  p.panel.start_forecast();
  EXPECT_TRUE(std::isnan(p.panel.forecast_next()));
}

TEST(SmoothingPanel, GoesOnFromASnapshot) {
  Panel p(4);
  Rng rng(4);
  for (std::size_t t = 0; t < 60; ++t) {
    p.learn(10 + season[t % 4] + rng.normal());
    std::vector<std::byte> bytes;
    Archive to(bytes);
    Panel other(7);
    p.past.exchange(to);
    p.panel.exchange(to);
    Archive from{std::span<const std::byte>(bytes)};
    other.past.exchange(from);
    other.panel.exchange(from);
    EXPECT_EQ(from.left(), 0);
    EXPECT_EQ(other.panel.predict(), p.panel.predict()) << t;
    other.learn(11);
    Panel same = p;
    same.learn(11);
    EXPECT_EQ(other.panel.predict(), same.panel.predict()) << t;
  }
}

TEST(SmoothingPanel, HugeAndConstantValuesAreJustValues) {
  for (const double y : {0.0, 1.0, -5.0, 1e100, -1e100, 1e-300}) {
    Panel p(4);
    for (int t = 0; t < 40; ++t) p.learn(y);
    EXPECT_NEAR(p.panel.predict(), y, 1e-6 * std::abs(y)) << y;
    p.learn(y / 2 + 1);
    p.learn(-y);
    p.learn(1e100);
    EXPECT_TRUE(std::isfinite(p.panel.predict())) << y << " " << p.panel.predict();
  }
}

}  // namespace
}  // namespace kalstream
