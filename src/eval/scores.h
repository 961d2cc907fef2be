// How far predictions were from their targets, target by target, and how good their bounds were.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace kalstream {

/// Of bounds around predictions; NaN where there were none.
struct BoundsScore {
  double coverage = std::numeric_limits<double>::quiet_NaN();  ///< part of the targets within
  double mean_width = std::numeric_limits<double>::quiet_NaN();
  double median_width = std::numeric_limits<double>::quiet_NaN();
};

/// Of one target, over the rows that count. With e = d − d̂:
///
///     NSE = Σe² / Σ(d − mean d)²,   RMSE = √(mean e²),   MAE = mean |e|
struct TargetScore {
  double nse = std::numeric_limits<double>::quiet_NaN();  ///< NaN too if the target does not vary
  double rmse = std::numeric_limits<double>::quiet_NaN();
  double mae = std::numeric_limits<double>::quiet_NaN();
  BoundsScore bounds;
};

/// What a run said of its rows, and what came: rows × targets each. Those rows count whose
/// `squared_error`, one number per row, is not NaN.
struct Predicted {
  std::span<const double> target;
  std::size_t targets = 1;  ///< of a row
  std::span<const double> squared_error;
  std::span<const double> prediction;
  std::span<const double> low;  ///< empty: no bounds
  std::span<const double> high;
};

/// Each target by itself.
std::vector<TargetScore> score_targets(const Predicted& run);

/// The bounds of all targets together.
BoundsScore score_bounds(const Predicted& run);

}  // namespace kalstream
