// Finds after how many samples a series repeats itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "auto/series/past.h"

namespace kalstream {

/// Whether it is time to look for periods: at 24, 28, 32, 40, 48, 56, 64, 80, … samples, and at
/// every 2,048 from there on.
bool is_time_for_periods(std::uint64_t samples);

/// Up to two periods in `past`, the shortest first. A period is where the autocorrelation has a
/// peak that stands out,
///
///     r(m) = Σ (y_t − ȳ)(y_{t−m} − ȳ) / Σ (y_t − ȳ)²
///
/// for the series without its trend, and its changes over an eighth of m are correlated as well (a
/// random walk has the one, never the other), three periods at least fit into the past, or two of a
/// multiple of a shorter one, and no shorter one explains it. Where up to 512 samples have none of
/// these, it is what explains most of the changes by a mean for each phase, if that is enough.
/// Without the memory to look it finds none.
std::vector<double> find_periods(const LongPast& past);

}  // namespace kalstream
