// What the experts of a series see of its past.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/series/past.h"

namespace kalstream {

/// Periods of a stream in samples, the shortest first; 0: none.
struct Periods {
  static constexpr std::size_t most = 3;
  std::array<double, most> length{};

  std::size_t lag(std::size_t i) const { return static_cast<std::size_t>(length[i] + 0.5); }
  bool any() const { return length[0] > 0; }
};

/// The past as differences, in units of the usual difference s, so that a new level is nothing new:
///
///     changes     (y_{t−i} − y_{t−i−1})/s             i = 1 … changes
///     level       (y_{t−1} − mean)/deviation
///     per period  (y_{t−m+j} − y_{t−m+j−1})/s         j = 0, 1
///                 (y_{t−m−1} − y_{t−1})/deviation
///     its phase   sin 2πht/m, cos 2πht/m              h = 1, 2, 3
///
/// What is not known yet is 0. An expert learns (y_t − y_{t−1})/s.
struct SeriesFeatures {
  static constexpr std::size_t changes = 23;
  static constexpr std::size_t waves = 3;
  static constexpr std::size_t per_period = 3;

  static constexpr std::size_t level() { return changes; }
  static constexpr std::size_t seasons() { return changes + 1; }
  static constexpr std::size_t phases() { return seasons() + Periods::most * per_period; }
  static constexpr std::size_t size() { return phases() + Periods::most * 2 * waves; }
};

/// Units of a series, from all of it so far.
struct SeriesUnits {
  double mean = 0;
  double deviation = 1;
  double change = 1;  ///< s
};

/// sin 2πht/m and cos 2πht/m for h = 1, 2, 3.
void see_phase(std::uint64_t t, double m, std::span<double> waves);

/// Writes them, for the value after the last.
void see_series(const LongPast& past, const Periods& periods, const SeriesUnits& units,
                std::span<double> seen);

}  // namespace kalstream
