// Random numbers that are the same on every compiler and machine.
#pragma once

#include <array>
#include <cstdint>

namespace kalstream {

/// xoshiro256** (Blackman & Vigna 2018), seeded through splitmix64. Uses only integer arithmetic,
/// IEEE + − × ÷ and sqrt, so a seed means the same numbers everywhere; the standard library's
/// distributions promise no such thing.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t next();
  double uniform();                         ///< in [0, 1), 53 random bits
  double uniform(double low, double high);  ///< in [low, high)
  double normal();                          ///< N(0, 1)
  std::uint64_t below(std::uint64_t n);     ///< in {0, …, n−1}, n ≥ 1

 private:
  std::array<std::uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace kalstream
