// Finds after how many samples a series repeats itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/series/features.h"

namespace kalstream {

/// Looks at the past of a series now and then, at 64, 128, … samples and at every 2,048 from there
/// on, for up to two periods. A period is where the autocorrelation has a peak that stands out,
///
///     r(m) = Σ (y_t − ȳ)(y_{t−m} − ȳ) / Σ (y_t − ȳ)²
///
/// for the series without its trend, and its changes over an eighth of m are correlated as well (a
/// random walk has the one, never the other), three periods at least fit into the past, and no
/// shorter one explains it.
class PeriodFinder {
 public:
  PeriodFinder();

  static bool is_due(std::uint64_t samples);

  /// Periods in `past`, the shortest first, at most two; the view lives until the next call.
  /// Allocates for as long as it looks, and without the memory for that finds none.
  std::span<const double> find(const LongPast& past);

 private:
  void look_at(const LongPast& past);
  void correlate(std::size_t most_lag);
  double correlation_of_changes(std::size_t m, std::size_t over) const;

  std::vector<double> y_;
  std::vector<double> r_;
  std::vector<double> found_;
};

}  // namespace kalstream
