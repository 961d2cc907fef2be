#include "auto/series/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

NetworkOptions network() {
  NetworkOptions n;
  n.inputs = 0;
  n.hidden = 4;
  return n;
}

double season(std::size_t t) {
  return 5 * std::sin(2 * std::numbers::pi * static_cast<double>(t) / 12) + (t % 12 == 3 ? 4 : 0);
}

Vector said_by(Series& s) {
  Vector said(s.size());
  s.predict({}, said, 1);
  return said;
}

TEST(Series, FeaturesAreThoseOfTheHeader) {
  LongPast past;
  Periods periods{{5, 0, 0}};
  const SeriesUnits units{.mean = 2, .deviation = 4, .change = 0.5};
  for (int t = 0; t < 30; ++t) past.push(0.1 * t * t);
  Vector seen(SeriesFeatures::size());
  see_series(past, periods, units, seen);
  const auto y = [](int lag) { return 0.1 * (30 - lag) * (30 - lag); };
  const auto held = [](double v) { return std::fmax(std::fmin(v, 10), -10); };
  for (int i = 1; i <= 23; ++i)
    EXPECT_DOUBLE_EQ(seen[static_cast<std::size_t>(i - 1)], held((y(i) - y(i + 1)) / 0.5));
  EXPECT_DOUBLE_EQ(seen[SeriesFeatures::level()], held((y(1) - 2) / 4));
  const auto s = std::span(seen).subspan(SeriesFeatures::seasons());
  EXPECT_DOUBLE_EQ(s[0], held((y(5) - y(6)) / 0.5));
  EXPECT_DOUBLE_EQ(s[1], held((y(4) - y(5)) / 0.5));
  EXPECT_DOUBLE_EQ(s[2], held((y(6) - y(1)) / 4));
  EXPECT_EQ(s[3], 0);                                     // no second period
  EXPECT_NEAR(seen[SeriesFeatures::phases()], 0, 1e-12);  // 30 is a multiple of 5
  EXPECT_NEAR(seen[SeriesFeatures::phases() + 1], 1, 1e-12);
}

TEST(Series, ThoseThatKnowSeasonsSleepUntilThereAreSome) {
  Series s(Auto{}, network(), 0);
  const auto plans = plan_series(Auto{}, network());
  Rng rng(3);
  for (std::size_t t = 0; t < 100; ++t) {
    said_by(s);
    s.learn(season(t) + 0.1 * rng.normal());
  }
  Vector said = said_by(s);
  for (std::size_t j = 0; j < said.size(); ++j)
    EXPECT_EQ(std::isfinite(said[j]), !plans[j].needs_periods) << plans[j].name;
  s.set_periods({{12, 0, 0}});
  for (std::size_t t = 100; t < 110; ++t) s.learn(season(t));  // the panel catches up
  said = said_by(s);
  for (std::size_t j = 0; j < said.size(); ++j)
    EXPECT_EQ(std::isfinite(said[j]),
              plans[j].kind != SeriesPlan::Kind::last_season || plans[j].period == 0)
        << plans[j].name;
}

TEST(Series, LearnASeason) {
  Series s(Auto{}, network(), 0);
  s.set_periods({{12, 0, 0}});
  const auto plans = plan_series(Auto{}, network());
  Rng rng(4);
  Vector loss(s.size());
  for (std::size_t t = 0; t < 1200; ++t) {
    const Vector said = said_by(s);
    const double y = season(t) + 0.1 * rng.normal();
    for (std::size_t j = 0; t >= 900 && j < said.size(); ++j)
      if (std::isfinite(said[j])) loss[j] += (said[j] - y) * (said[j] - y) / 300;
    s.learn(y);
  }
  for (std::size_t j = 0; j < loss.size(); ++j)
    if (plans[j].needs_periods || plans[j].kind == SeriesPlan::Kind::smoothing) {
      EXPECT_LT(loss[j], 0.2) << plans[j].name;  // the variance is 14
    }
}

TEST(Series, GoOnFromASnapshotAndACopy) {
  Series s(Auto{}, network(), 0);
  s.set_periods({{12, 0, 0}});
  Rng rng(5);
  for (std::size_t t = 0; t < 150; ++t) {
    said_by(s);
    if (t % 10 == 7)
      s.advance(1);
    else
      s.learn(season(t) + rng.normal());
  }
  Series loaded(Auto{}, network(), 0);
  test::set_state(loaded, test::state_of(s));
  Series copy(s);
  for (std::size_t t = 150; t < 170; ++t) {
    const Vector said = said_by(s);
    EXPECT_TRUE(test::same_bits(said_by(loaded), said));
    EXPECT_TRUE(test::same_bits(said_by(copy), said));
    for (Series* one : {&s, &loaded, &copy}) one->learn(season(t));
  }
}

}  // namespace
}  // namespace kalstream
