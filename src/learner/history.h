// The last targets of a stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

/// The last `lags` targets, the newest first. The first one stands for those before it as well: in
/// raw units 0 may be far from any target. While there is none, all are 0.
class TargetHistory {
 public:
  TargetHistory(std::size_t lags, std::size_t outputs)
      : n_d_(outputs), targets_(lags * outputs, 0.0) {}

  void push(std::span<const double> d) {
    if (targets_.empty()) return;
    std::copy_backward(targets_.begin(), targets_.end() - n_d_, targets_.end());
    std::copy(d.begin(), d.end(), targets_.begin());
    if (!begun_)
      for (std::size_t k = n_d_; k < targets_.size(); ++k) targets_[k] = targets_[k - n_d_];
    begun_ = true;
  }

  /// A prediction in the place of a target that is missing: kept within what an input may be, and
  /// of no use before the first target.
  void push_guess(std::span<const double> d_hat) {
    if (!begun_) return;
    push(d_hat);
    for (double& d : std::span(targets_).first(n_d_))
      d = std::fmax(std::fmin(d, largest_magnitude), -largest_magnitude);
  }

  std::size_t lags() const { return targets_.size() / n_d_; }
  std::span<const double> all() const { return targets_; }  ///< lags × outputs
  /// Target `lag` ≥ 1 samples ago.
  std::span<const double> operator[](std::size_t lag) const {
    return std::span(targets_).subspan((lag - 1) * n_d_, n_d_);
  }

  void reset() {
    std::fill(targets_.begin(), targets_.end(), 0.0);
    begun_ = false;
  }

  void exchange(Archive& archive) {
    archive.numbers(targets_);
    archive.flag(begun_);
  }

 private:
  std::size_t n_d_;
  std::vector<double> targets_;
  bool begun_ = false;
};

}  // namespace kalstream
