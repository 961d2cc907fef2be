#include "auto/series/finder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "core/rng.h"

namespace kalstream {
namespace {

std::vector<double> found_in(std::size_t n, const std::function<double(double t, Rng&)>& next,
                             std::uint64_t seed = 1) {
  Rng rng(seed);
  LongPast past;
  for (std::size_t t = 0; t < n; ++t) past.push(next(static_cast<double>(t), rng));
  return find_periods(past);
}

double wave(double t, double m) { return std::sin(2 * std::numbers::pi * t / m); }

TEST(PeriodFinder, FindsASeasonInNoiseAndTrend) {
  for (const double m : {4.0, 12.0, 24.0, 288.0})
    for (const double noise : {0.0, 0.3}) {
      const auto found = found_in(2000, [&](double t, Rng& rng) {
        return 100 + 0.01 * t + wave(t, m) + (std::fmod(t, m) < m / 4 ? 1 : 0) +
               noise * rng.normal();
      });
      ASSERT_FALSE(found.empty()) << m;
      EXPECT_NEAR(found[0], m, 0.02 * m) << noise;
    }
}

TEST(PeriodFinder, FindsADayAndAWeek) {
  const auto found = found_in(2500, [](double t, Rng& rng) {
    const bool weekend = std::fmod(t, 168) >= 120;
    return (weekend ? 0.3 : 1) * 10 * std::fmax(wave(t, 24), 0) + 0.3 * rng.normal();
  });
  EXPECT_EQ(found, (std::vector<double>{24, 168}));
}

// Two years of months and two weeks of days.
TEST(PeriodFinder, TwoCyclesAreEnough) {
  for (const std::size_t m : {4U, 7U, 12U}) {
    Rng shape(m);
    std::vector<double> season(m);
    for (double& s : season) s = 3 * shape.normal();
    const auto found = found_in(2 * m + 16, [&](double t, Rng& rng) {
      return 50 + t + season[static_cast<std::size_t>(t) % m] + 0.3 * rng.normal();
    });
    EXPECT_EQ(found, std::vector<double>{static_cast<double>(m)});
  }
}

TEST(PeriodFinder, HardlyFindsAnythingInShortNoise) {
  std::size_t noise = 0, walks = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    noise += found_in(
                 48, [](double, Rng& rng) { return rng.normal(); }, seed)
                 .size();
    walks += found_in(
                 48, [w = 0.0](double, Rng& rng) mutable { return w += rng.normal(); }, seed)
                 .size();
  }
  EXPECT_LE(noise, 10U);
  EXPECT_LE(walks, 4U);
}

TEST(PeriodFinder, LooksOftenWhileThePastIsShort) {
  std::vector<std::uint64_t> looks;
  for (std::uint64_t n = 0; n <= 64; ++n)
    if (is_time_for_periods(n)) looks.push_back(n);
  EXPECT_EQ(looks, (std::vector<std::uint64_t>{24, 28, 32, 40, 48, 56, 64}));
  EXPECT_TRUE(is_time_for_periods(1536));
  EXPECT_FALSE(is_time_for_periods(3072));
  EXPECT_TRUE(is_time_for_periods(4096));
}

TEST(PeriodFinder, FindsNothingWhereThereIsNothing) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    wrong += found_in(
                 2500, [](double, Rng& rng) { return rng.normal(); }, seed)
                 .size();
    wrong += found_in(
                 2500, [w = 0.0](double, Rng& rng) mutable { return w += rng.normal(); }, seed)
                 .size();
    wrong +=
        found_in(
            2500, [w = 0.0](double, Rng& rng) mutable { return w = 0.8 * w + rng.normal(); }, seed)
            .size();
  }
  EXPECT_LE(wrong, 2U);
  EXPECT_TRUE(found_in(2500, [](double, Rng&) { return 7.0; }).empty());
}

}  // namespace
}  // namespace kalstream
