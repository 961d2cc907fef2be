#include "trees/binned_inputs.h"

#include <algorithm>
#include <numeric>

namespace kalstream {

BinnedInputs::BinnedInputs(std::size_t inputs, std::size_t places)
    : all_inputs_(inputs),
      inputs_(std::min(inputs, most)),
      thresholds_(size() * thresholds),
      codes_(places * size()) {
  reset();
}

void BinnedInputs::reset() {
  std::iota(inputs_.begin(), inputs_.end(), 0);
  std::ranges::fill(thresholds_, 0.0);
  std::ranges::fill(codes_, std::uint8_t{0});
}

// Each set of them is as probable as any other.
void BinnedInputs::choose_inputs(Rng& rng) {
  if (all_inputs_ <= most) return;
  std::size_t chosen = 0;
  for (std::size_t i = 0; chosen < size(); ++i)
    if (rng.below(all_inputs_ - i) < size() - chosen) inputs_[chosen++] = i;
}

// Each is half way to the next, so that values between two of them are on the side of the nearer.
void BinnedInputs::sort_thresholds() {
  for (std::size_t f = 0; f < size(); ++f) {
    double* const t = &thresholds_[f * thresholds];
    std::sort(t, t + thresholds);
    for (std::size_t b = 0; b + 1 < thresholds; ++b) t[b] += (t[b + 1] - t[b]) / 2;
  }
}

void BinnedInputs::set(std::size_t place, std::span<const double> x) {
  std::uint8_t* const code = &codes_[place * size()];
  for (std::size_t f = 0; f < size(); ++f) {
    const double v = x[inputs_[f]];
    const double* const t = &thresholds_[f * thresholds];
    std::int64_t below = 0;  // as wide as the numbers that are compared, for vectors of both
#pragma omp simd reduction(+ : below)
    for (std::size_t b = 0; b < thresholds; ++b) below += v > t[b] ? 1 : 0;
    code[f] = static_cast<std::uint8_t>(below);
  }
}

// Eight codes in a word.
void BinnedInputs::exchange(Archive& archive) {
  for (std::size_t& i : inputs_) archive.count(i, all_inputs_ - 1);
  archive.run(thresholds_, Archive::usable);
  for (std::size_t at = 0; at < codes_.size(); at += 8) {
    const std::size_t n = std::min<std::size_t>(8, codes_.size() - at);
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < n; ++k) word |= std::uint64_t{codes_[at + k]} << (8 * k);
    archive.word(word);
    for (std::size_t k = 0; k < n; ++k) {
      codes_[at + k] = static_cast<std::uint8_t>(word >> (8 * k));
      archive.require(codes_[at + k] < bins);
    }
  }
}

}  // namespace kalstream
