// Streams whose targets are sums and products of what came before: memory is all.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <numbers>

#include "data/generators/stream.h"

namespace kalstream::generator {
namespace {

// s = c + Σ bits;  d = ½ if s is odd, otherwise −½;  c ← ⌊s/2⌋.
Stream add_bits(const Settings& settings) {
  return {numbered("bit", settings.count("n")), "sum",
          [rng = settings.rng(), carry = std::uint64_t{0}](std::span<double> x) mutable {
            std::uint64_t s = carry;
            for (double& bit : x) {
              const std::uint64_t b = rng.below(2);
              bit = static_cast<double>(b);
              s += b;
            }
            carry = s / 2;
            return s % 2 == 1 ? 0.5 : -0.5;
          }};
}

// y(t+1) = 0.3 y(t) + 0.05 y(t) Σ_{i<10} y(t−i) + 1.5 u(t−9) u(t) + 0.1,  u ~ U(0, ½).
// Beyond y ≈ 1.02 it can run away; y ≤ 1 keeps the endless stream finite and is hardly ever active.
Stream moving_average(const Settings& settings) {
  constexpr std::size_t order = 10;
  return {{"u"},
          "y",
          [rng = settings.rng(), u = std::deque<double>(order),
           y = std::deque<double>(order)](std::span<double> x) mutable {
            u.pop_front();
            u.push_back(rng.uniform(0, 0.5));
            double sum = 0;
            for (double value : y) sum += value;
            const double next =
                0.3 * y.back() + 0.05 * y.back() * sum + 1.5 * u.front() * u.back() + 0.1;
            y.pop_front();
            y.push_back(std::min(next, 1.0));
            x[0] = std::numbers::sqrt3 * (u.back() - 0.25) / 0.25;
            return target_of(y.back(), 0.4, 0.5);
          }};
}

}  // namespace

Generator addition() {
  return {{"addition",
           "sum of n binary numbers, bit after bit; the carry must be remembered",
           {whole({2, 16}, "n", 3, "numbers to add")}},
          add_bits};
}

Generator narma10() {
  return {{"narma10",
           "non-linear moving average of order 10, driven by noise: ten steps of memory",
           {}},
          moving_average};
}

}  // namespace kalstream::generator
