// The last targets of a stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace kalstream {

/// The last `lags` targets, the newest first; 0 before the stream began.
class TargetHistory {
 public:
  TargetHistory(std::size_t lags, std::size_t outputs)
      : n_d_(outputs), targets_(lags * outputs, 0.0) {}

  void push(std::span<const double> d) {
    if (targets_.empty()) return;
    std::copy_backward(targets_.begin(), targets_.end() - n_d_, targets_.end());
    std::copy(d.begin(), d.end(), targets_.begin());
  }

  std::size_t lags() const { return targets_.size() / n_d_; }
  std::span<const double> all() const { return targets_; }  ///< lags × outputs
  /// Target `lag` ≥ 1 samples ago.
  std::span<const double> operator[](std::size_t lag) const {
    return std::span(targets_).subspan((lag - 1) * n_d_, n_d_);
  }

  void reset() { std::fill(targets_.begin(), targets_.end(), 0.0); }

 private:
  std::size_t n_d_;
  std::vector<double> targets_;
};

}  // namespace kalstream
