// A number that changes as a stream goes on.
#pragma once

#include <cstdint>

namespace kalstream {

/// A value that changes with the number t = 0, 1, 2, … of targets a learner has seen.
struct Schedule {
  enum class Kind { constant, linear, exponential };

  constexpr Schedule() = default;
  constexpr Schedule(double value) : from(value), to(value) {}  // NOLINT: a number is a schedule.

  /// from + (to − from)·min(t / steps, 1).
  static constexpr Schedule linear(double from, double to, double steps) {
    return {Kind::linear, from, to, steps};
  }
  /// to + (from − to)·exp(−t / steps): for streams without an end.
  static constexpr Schedule exponential(double from, double to, double steps) {
    return {Kind::exponential, from, to, steps};
  }

  double at(std::uint64_t t) const;

  Kind kind = Kind::constant;
  double from = 0;
  double to = 0;
  double steps = 0;

 private:
  constexpr Schedule(Kind k, double a, double b, double n) : kind(k), from(a), to(b), steps(n) {}
};

}  // namespace kalstream
