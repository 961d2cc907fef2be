#include "auto/series/features.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kalstream {
namespace {

constexpr double widest_feature = 10;

double within_reach(double v) { return std::clamp(v, -widest_feature, widest_feature); }

}  // namespace

void see_phase(std::uint64_t t, double m, std::span<double> waves) {
  const double turn = std::fmod(static_cast<double>(t), m) / m * 2 * std::numbers::pi;
  const double sine = waves[0] = std::sin(turn);
  const double cosine = waves[1] = std::cos(turn);
  for (std::size_t h = 1; h < SeriesFeatures::waves; ++h) {  // the sum of two angles
    waves[2 * h] = waves[2 * h - 2] * cosine + waves[2 * h - 1] * sine;
    waves[2 * h + 1] = waves[2 * h - 1] * cosine - waves[2 * h - 2] * sine;
  }
}

void see_series(const LongPast& past, const Periods& periods, const SeriesUnits& units,
                std::span<double> seen) {
  using F = SeriesFeatures;
  std::fill(seen.begin(), seen.begin() + F::size(), 0.0);
  if (!past.reaches(1)) return;
  const double last = past[1];
  for (std::size_t i = 1; i <= F::changes && past.reaches(i + 1); ++i)
    seen[i - 1] = within_reach((past[i] - past[i + 1]) / units.change);
  seen[F::level()] = within_reach((last - units.mean) / units.deviation);
  for (std::size_t i = 0; i < Periods::most; ++i) {
    const std::size_t m = periods.lag(i);
    if (m < 2) continue;
    if (past.reaches(m + 1)) {
      const auto s = seen.subspan(F::seasons() + i * F::per_period);
      s[0] = within_reach((past[m] - past[m + 1]) / units.change);
      s[1] = within_reach((past[m - 1] - past[m]) / units.change);
      s[2] = within_reach((past[m + 1] - last) / units.deviation);
    }
    see_phase(past.count(), periods.length[i], seen.subspan(F::phases() + i * 2 * F::waves));
  }
}

}  // namespace kalstream
