#include "core/rng.h"

#include <bit>
#include <cmath>

namespace kalstream {
namespace {

// ln s for 0 < s < 1 by ln s = k ln 2 + 2 artanh((m−1)/(m+1)), s = m·2^k, m ∈ [√½, √2).
// Not std::log: libraries differ in its last bit, and a seed must not.
double portable_log(double s) {
  int k = 0;
  double m = std::frexp(s, &k);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --k;
  }
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double series = 0;
  for (int n = 27; n >= 1; n -= 2) series = series * z2 + 1.0 / n;
  return k * 0.69314718055994530942 + 2 * z * series;
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::uniform(double low, double high) { return low + (high - low) * uniform(); }

// Marsaglia's polar method.
double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u = 0;
  double v = 0;
  double s = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double scale = std::sqrt(-2 * portable_log(s) / s);
  spare_ = v * scale;
  has_spare_ = true;
  return u * scale;
}

std::uint64_t Rng::below(std::uint64_t n) {
  const std::uint64_t limit = n * (UINT64_MAX / n);  // reject the uneven tail
  std::uint64_t r = next();
  while (r >= limit) r = next();
  return r % n;
}

}  // namespace kalstream
