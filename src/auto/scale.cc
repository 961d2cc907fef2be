#include "auto/scale.h"

#include <cmath>

#include "auto/belief.h"
#include "auto/constants.h"
#include "core/archive.h"

namespace kalstream {
void HeldMoments::take_over(std::size_t k) {
  mean_[k] = running_.mean(k);
  deviation_[k] = running_.deviation(k);
}

void HeldMoments::hold() {
  for (std::size_t k = 0; k < mean_.size(); ++k) take_over(k);
}

void HeldMoments::follow() {
  for (std::size_t k = 0; k < mean_.size(); ++k) {
    const double ratio = running_.deviation(k) / deviation_[k];
    const double shift = std::abs(running_.mean(k) - mean_[k]) / deviation_[k];
    if (ratio > constants::scale_change || ratio < 1 / constants::scale_change || shift > 1)
      take_over(k);
  }
}

void HeldMoments::reset() {
  running_.reset();
  std::fill(mean_.begin(), mean_.end(), 0.0);
  std::fill(deviation_.begin(), deviation_.end(), 1.0);
}

void HeldMoments::exchange(Archive& archive) {
  running_.exchange(archive);
  archive.numbers(mean_);
  archive.numbers(deviation_, Archive::positive);
}

void Scale::see(std::span<const double> x, std::span<const double> past,
                std::span<double> seen) const {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double v = inputs_.standardised(k, x[k]);
    seen[k] = std::abs(v) > constants::wild_input
                  ? 0
                  : std::clamp(v, -RunningMoments::reach, RunningMoments::reach);
  }
  if (sight_.is_wide()) telling_.see(seen.first(x.size()), seen.subspan(x.size()));
  const std::size_t n_d = sight_.outputs;
  for (std::size_t k = 0; k < past.size(); ++k)
    seen[sight_.past_targets() + k] =
        targets_.standardised(k % n_d, past[k], RunningMoments::reach);
  for (std::size_t k = 0; k < n_d; ++k) {
    seen[sight_.last_target() + k] = past[k];
    seen[sight_.mean() + k] = targets_.running().mean(k);
  }
}

void Scale::standardise_target(std::span<const double> d, std::span<double> target) const {
  for (std::size_t k = 0; k < d.size(); ++k)
    target[k] = targets_.standardised(k, d[k], constants::wild_target);
}

void Scale::reset() {
  inputs_.reset();
  targets_.reset();
  telling_.reset();
}

void Scale::exchange(Archive& archive) {
  inputs_.exchange(archive);
  targets_.exchange(archive);
  telling_.exchange(archive);
}

}  // namespace kalstream
