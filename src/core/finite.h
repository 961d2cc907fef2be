#pragma once

#include <cmath>
#include <span>

namespace kalstream {

inline bool all_finite(std::span<const double> values) {
  for (double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

/// Beyond this a number is as good as infinite: a product of two such must not overflow.
inline constexpr double largest_magnitude = 1e100;

/// True when every value is finite and of usable size.
inline bool all_usable(std::span<const double> values) {
  for (double v : values)
    if (!(std::abs(v) <= largest_magnitude)) return false;
  return true;
}

}  // namespace kalstream
