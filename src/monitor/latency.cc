#include "monitor/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kalstream {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t generation = 65536;
constexpr int dropped_bits = 48;  // all of a double but its exponent and four bits: 16 per octave
constexpr double lowest = 0x1p-24;

// The bits of positive doubles are in the order of the numbers, so that their highest ones are
// already a logarithmic scale.
std::uint64_t place(double seconds) {
  return std::bit_cast<std::uint64_t>(seconds) >> dropped_bits;
}

double lower_edge(std::size_t bucket) {
  return std::bit_cast<double>((place(lowest) + bucket) << dropped_bits);
}

}  // namespace

void LatencyHistogram::record(double seconds) {
  if (std::isnan(seconds)) return;
  seconds = std::clamp(seconds, 0.0, std::numeric_limits<double>::max());
  const std::size_t bucket =
      seconds < lowest ? 0 : std::min<std::uint64_t>(place(seconds) - place(lowest), buckets - 1);
  if (in_present_ == generation) {
    present_ = 1 - present_;
    counts_[present_].fill(0);
    in_past_ = in_present_;
    in_present_ = 0;
  }
  ++counts_[present_][bucket];
  ++in_present_;
  ++count_;
  sum_ = std::min(sum_ + seconds, std::numeric_limits<double>::max());
  max_ = std::max(max_, seconds);
}

double LatencyHistogram::quantile(double p) const {
  const std::uint64_t total = std::uint64_t{in_present_} + in_past_;
  if (total == 0) return nan;
  const double wanted = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(total));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < buckets; ++bucket) {
    below += counts_[0][bucket] + counts_[1][bucket];
    if (below >= rank) break;
  }
  return std::min((lower_edge(bucket) + lower_edge(bucket + 1)) / 2, max_);
}

LatencySummary LatencyHistogram::summary() const {
  return {.p50 = quantile(0.5),
          .p90 = quantile(0.9),
          .p99 = quantile(0.99),
          .p999 = quantile(0.999),
          .max = count_ == 0 ? nan : max_,
          .sum = sum_,
          .count = count_};
}

}  // namespace kalstream
