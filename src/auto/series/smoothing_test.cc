#include "auto/series/smoothing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/rng.h"
#include "support.h"

namespace kalstream {
namespace {

constexpr Pace pace{0.1, 0.01, 0.2};

double load(std::size_t t) {
  const double day[] = {3, 1, -2, -2};
  const double week[] = {0, 1, 5, -1, -1, -4, 0};
  return 10 + day[t % 4] + week[t % 7];
}

// What two seasons repeat is foretold once both are known, however far ahead.
TEST(Smoothing, TwoSeasonsAndALevel) {
  Smoothing s(pace);
  s.set_periods({4, 7});
  std::size_t t = 0;
  for (; t < 3000; ++t) s.learn(load(t));
  s.start_forecast();
  EXPECT_NEAR(s.predict(), load(t), 0.01);
  for (std::size_t lead = 0; lead < 40; ++lead)
    EXPECT_NEAR(s.forecast_next(), load(t + lead), 0.01) << lead;
}

// The recursion of the header, written once more without phases by index.
TEST(Smoothing, IsTheRecursionItSays) {
  Smoothing s(pace);
  s.set_periods({3, 0});
  Rng rng(5);
  double level = 0, trend = 0, error = 0, product = 0, square = 0;
  std::vector<double> season(3);
  for (int t = 0; t < 200; ++t) {
    const double share = square > 0 ? std::fmin(std::fmax(product / square, 0), 0.98) : 0;
    const double structure = level + 0.98 * trend + season[t % 3];
    EXPECT_NEAR(s.predict(), t == 0 ? 0 : structure + share * error, 1e-9) << t;
    const double y = 5 + rng.normal() + 2 * (t % 3);
    s.learn(y);
    if (t == 0) {
      level = y;
      continue;
    }
    const double e = y - structure;
    product = 0.998 * product + e * error;
    square = 0.998 * square + error * error;
    error = e;
    level += 0.98 * trend + std::fmax(0.1, 1.0 / (t + 1)) * e;
    trend = 0.98 * trend + 0.01 * e;
    season[t % 3] += std::fmax(0.2, 1.0 / (t / 3 + 2)) * e;
  }
}

TEST(Smoothing, AForecastIsAnAdvance) {
  Smoothing s(pace);
  s.set_periods({4, 7});
  Rng rng(6);
  for (std::size_t t = 0; t < 100; ++t) s.learn(load(t) + rng.normal());
  Smoothing copy = s;
  s.start_forecast();
  for (int lead = 0; lead < 9; ++lead) {
    EXPECT_EQ(s.forecast_next(), copy.predict());
    copy.advance();
  }
}

TEST(Smoothing, GoesOnFromASnapshot) {
  Smoothing s(pace);
  s.set_periods({4, 7});
  for (std::size_t t = 0; t < 50; ++t) s.learn(load(t));
  Smoothing loaded(pace);
  test::set_state(loaded, test::state_of(s));
  for (std::size_t t = 50; t < 80; ++t) {
    EXPECT_EQ(loaded.predict(), s.predict());
    s.learn(load(t));
    loaded.learn(load(t));
  }
}

}  // namespace
}  // namespace kalstream
