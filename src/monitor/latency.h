// How long things took, without keeping each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kalstream {

/// In seconds; NaN before the first measurement.
struct LatencySummary {
  double p50 = std::numeric_limits<double>::quiet_NaN();
  double p90 = std::numeric_limits<double>::quiet_NaN();
  double p99 = std::numeric_limits<double>::quiet_NaN();
  double p999 = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  std::uint64_t count = 0;
};

/// Counts durations in buckets of growing width, sixteen to a power of two: quantiles are right to
/// within 3.2 % from 60 ns to 1024 s, and at the nearer of these ends for what is outside.
/// Quantiles are those of the last 65,536 to 131,072 durations, so that after months they still
/// tell of today; count, sum and max are those of all.
class LatencyHistogram {
 public:
  /// A negative duration, from a clock that was set, counts as none; NaN is ignored.
  void record(double seconds);

  /// The p-quantile, p in [0, 1]; NaN if there is nothing.
  double quantile(double p) const;

  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  double max() const { return max_; }  ///< 0 if there is nothing
  LatencySummary summary() const;

 private:
  static constexpr std::size_t per_octave = 16;
  static constexpr std::size_t octaves = 34;  // 2⁻²⁴ s … 2¹⁰ s
  static constexpr std::size_t buckets = per_octave * octaves;
  using Counts = std::array<std::uint32_t, buckets>;

  std::array<Counts, 2> counts_{};  // the present generation and the one before
  std::size_t present_ = 0;
  std::uint32_t in_present_ = 0;
  std::uint32_t in_past_ = 0;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

}  // namespace kalstream
