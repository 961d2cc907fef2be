// What a target has been for a long time, and what a forecast says it will be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

/// The last values of one target, with predictions in the place of those that are missing, and of
/// those still to come while a forecast is under way.
class LongPast {
 public:
  static constexpr std::size_t capacity = 2560;  ///< a week of five minutes, and a little more

  LongPast() : known_(capacity), ahead_(capacity) {}

  void push(double y) { known_[count_++ % capacity] = held(y); }
  void start_forecast() { ahead_count_ = count_; }
  void push_ahead(double y) { ahead_[ahead_count_++ % capacity] = held(y); }
  /// Ends a forecast: lags count from the last value known again.
  void end_forecast() { ahead_count_ = 0; }

  /// Values so far, those of a forecast included.
  std::uint64_t count() const { return std::max(count_, ahead_count_); }
  bool reaches(std::size_t lag) const { return lag >= 1 && lag <= capacity && lag <= count(); }
  /// The value `lag` ≥ 1 steps before the one that is next; it must reach so far.
  double operator[](std::size_t lag) const {
    const std::uint64_t step = count() - lag;
    return (step < count_ ? known_ : ahead_)[step % capacity];
  }

  void reset() { count_ = ahead_count_ = 0; }

  void exchange(Archive& archive) {
    archive.count(count_);
    ahead_count_ = 0;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count_, capacity));
    for (std::size_t lag = n; lag > 0; --lag)
      archive.number(known_[(count_ - lag) % capacity], Archive::usable);
  }

 private:
  static double held(double y) {
    return std::fmax(std::fmin(y, largest_magnitude), -largest_magnitude);
  }

  std::vector<double> known_;
  std::vector<double> ahead_;
  std::uint64_t count_ = 0;
  std::uint64_t ahead_count_ = 0;  // of known and ahead ones; 0: no forecast is under way
};

}  // namespace kalstream
