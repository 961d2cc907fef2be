// How good predictions have been so far, and lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// NaN: nothing to tell yet.
struct Errors {
  double nse = std::numeric_limits<double>::quiet_NaN();  ///< NaN too while targets do not vary
  double rmse = std::numeric_limits<double>::quiet_NaN();
  double mae = std::numeric_limits<double>::quiet_NaN();
};

/// With e = d − d̂ and n targets, over the scored samples:
///
///     NSE = Σ‖e‖² / Σ‖d − mean d‖²,   RMSE = √(mean ‖e‖²/n),   MAE = mean Σ|e_k|/n
///
/// once with equal weights and once with weights that decay by 1 − 1/window per sample. One pass,
/// by recursions for means (Welford's), whose rounding does not build up: a mean of 10⁹ samples is
/// as good as one of 10³.
class RunningScore {
 public:
  explicit RunningScore(std::size_t targets, double window = 1000)
      : all_(targets), recent_(targets), keep_(1 - 1 / window) {}

  /// False, and nothing changes, where a size is wrong or a number is not usable (core/finite.h).
  /// The caller decides which samples count: `kalstream run` leaves out those before the first
  /// target is known.
  bool add(std::span<const double> d_hat, std::span<const double> d);

  Errors all() const { return all_.errors(); }
  Errors recent() const { return recent_.errors(); }
  std::uint64_t count() const { return count_; }

  /// For a checkpoint; the number of targets must be the same on both sides.
  void exchange(Archive& archive);

 private:
  struct Means {
    explicit Means(std::size_t targets) : target(targets, 0.0) {}

    void add(std::span<const double> d_hat, std::span<const double> d, double keep);
    Errors errors() const;
    void exchange(Archive& archive);

    double weight = 0;           // Σ of the samples' weights
    double squared_error = 0;    // mean ‖e‖²
    double absolute_error = 0;   // mean Σ|e_k|
    std::vector<double> target;  // mean d
    double target_spread = 0;    // mean ‖d − mean d‖²
  };

  Means all_;
  Means recent_;
  double keep_;
  std::uint64_t count_ = 0;
};

}  // namespace kalstream
