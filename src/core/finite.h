#pragma once

#include <cmath>
#include <span>

namespace kalstream {

inline bool all_finite(std::span<const double> values) {
  for (double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

}  // namespace kalstream
