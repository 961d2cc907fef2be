// Streams whose targets are functions of their inputs: of those that came before, where memory is
// all, or of the present ones, whose roles may change.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numbers>
#include <vector>

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

// Friedman #1 on inputs x ~ U(0, 1)ⁿ, their roles moved on by `shift`:
// f = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅.
double friedman1(std::span<const double> x, std::size_t shift) {
  const auto at = [&](std::size_t i) { return x[(i - 1 + shift) % x.size()]; };
  const double bend = at(3) - 0.5;
  return 10 * std::sin(std::numbers::pi * at(1) * at(2)) + 20 * bend * bend + 10 * at(4) +
         5 * at(5);
}

// d = (1 − w) f_k + w f_{k+1} + noise, k = ⌊t/period⌋; w = 0, or t/period − k if the drift is
// gradual; k stays 0 without drift.
Stream drifting(const Settings& settings) {
  const bool drifts = !settings.is("drift", "none");
  const bool gradual = settings.is("drift", "gradual");
  const std::size_t period = settings.count("period");
  const double noise = settings.number("noise");
  std::vector<double> x(settings.count("inputs"));
  return {numbered("x", x.size()), "y",
          [=, rng = settings.rng(), t = std::size_t{0}](std::span<double> inputs) mutable {
            for (std::size_t i = 0; i < x.size(); ++i) {
              x[i] = rng.uniform();
              inputs[i] = 2 * std::numbers::sqrt3 * (x[i] - 0.5);
            }
            const std::size_t k = drifts ? t / period : 0;
            const double w =
                gradual ? static_cast<double>(t % period) / static_cast<double>(period) : 0;
            ++t;
            const double f = (1 - w) * friedman1(x, k) + w * friedman1(x, k + 1);
            return target_of(f + noise * rng.normal(), 14.4, 16);
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

Generator friedman() {
  return {{"friedman",
           "Friedman's function #1, 5 of 10 inputs matter; which ones may drift",
           {whole({5, 1000}, "inputs", 10, "all but 5 of them do not matter"),
            choice({"none", "abrupt", "gradual"}, "drift", "none",
                   "roles move on by one input every period, at once or all along"),
            whole({1, 1e9}, "period", 1000, "rows between drifts"),
            real({0, 100}, "noise", 1, "deviation of the noise (the function's is 4.9)")}},
          drifting};
}

}  // namespace kalstream::generator
