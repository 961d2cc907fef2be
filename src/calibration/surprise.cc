#include "kalstream/surprise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/interval_size.h"
#include "calibration/rarity.h"
#include "calibration/usual_place.h"
#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

class Surprise::Output {
 public:
  Expected expect(double d_hat, double spread) const {
    Expected expected;
    if (!(std::abs(d_hat) <= largest_magnitude)) return expected;
    expected.d_hat = d_hat;
    expected.learnt = size_.count();
    size_.expect(spread, expected);
    return expected;
  }

  double of(const Expected& expected, double d) const {
    if (!can_judge(expected, d) || size_.count() < first_errors) return Interval::unknown;
    return all_.of(rareness(expected, d));
  }

  void learn(const Expected& expected, double d) {
    if (!can_judge(expected, d)) return;
    const double e = d - expected.d_hat;
    if (size_.count() >= first_errors) all_.learn(rareness(expected, d));
    if (size_.count() > 0) {
      errors_.learn(in_units(std::abs(e), expected.scale));
      places_.learn(in_units(place_.distance(d), place_.usual_distance()));
    }
    size_.learn(expected, e);
    place_.learn(d);
  }

  void exchange(Archive& archive) {
    size_.exchange(archive);
    errors_.exchange(archive);
    place_.exchange(archive);
    places_.exchange(archive);
    all_.exchange(archive);
  }

 private:
  static constexpr std::uint64_t first_errors = 10;

  // Expectations may come from a file: none is taken on trust.
  static bool can_judge(const Expected& expected, double d) {
    return std::abs(d) <= largest_magnitude && std::abs(expected.d_hat) <= largest_magnitude &&
           expected.scale >= 0 && all_usable(expected.features);
  }

  static double in_units(double size, double unit) {
    if (size == 0) return 0;
    return unit > 0 ? std::min(size / unit, Rarity::largest) : Rarity::largest;
  }

  // r = −log p − ½ log q, of P(error) and P(place) the smaller p and the other one q. The two know
  // of each other more or less, which differs from stream to stream: so it is r that is calibrated
  // in the end.
  double rareness(const Expected& expected, double d) const {
    const auto r = [](double p) {
      return -std::log(std::max(p, std::numeric_limits<double>::min()));
    };
    const double a = r(probability(errors_, std::abs(d - expected.d_hat), expected.scale));
    const double b = r(
        place_.is_news(d) ? probability(places_, place_.distance(d), place_.usual_distance()) : 1);
    return std::max(a, b) + std::min(a, b) / 2;
  }

  // Where all sizes so far were 0, there is no unit for another: it is the first in so many.
  double probability(const Rarity& among, double size, double unit) const {
    if (unit > 0) return among.of(in_units(size, unit));
    return size == 0 ? 1 : 1 / static_cast<double>(size_.count() + 1);
  }

  ErrorSize size_;
  Rarity errors_;  // of |e|/σ
  UsualPlace place_;
  Rarity places_;  // of |d − m|/S
  Rarity all_;     // of r
};

Surprise::Surprise(std::size_t outputs) : of_(outputs), expected_(outputs), surprise_(outputs) {}
Surprise::Surprise(const Surprise& other) = default;
Surprise& Surprise::operator=(const Surprise& other) = default;
Surprise::~Surprise() = default;

std::span<const Surprise::Expected> Surprise::expect(std::span<const double> d_hat,
                                                     std::span<const double> spread) {
  const auto entry = [](std::span<const double> v, std::size_t k) {
    return k < v.size() ? v[k] : Interval::unknown;
  };
  for (std::size_t k = 0; k < of_.size(); ++k)
    expected_[k] = of_[k].expect(entry(d_hat, k), entry(spread, k));
  return expected_;
}

std::span<const double> Surprise::of(std::span<const Expected> expected,
                                     std::span<const double> d) {
  for (std::size_t k = 0; k < of_.size(); ++k)
    surprise_[k] =
        k < expected.size() && k < d.size() ? of_[k].of(expected[k], d[k]) : Interval::unknown;
  return surprise_;
}

void Surprise::learn(std::span<const Expected> expected, std::span<const double> d) {
  if (expected.size() != of_.size() || d.size() != of_.size()) return;
  for (std::size_t k = 0; k < of_.size(); ++k) of_[k].learn(expected[k], d[k]);
}

bool Surprise::is_anomaly(std::span<const double> surprise, double alarm_rate) {
  const double least = alarm_rate / static_cast<double>(surprise.size());
  return std::any_of(surprise.begin(), surprise.end(), [=](double p) { return p <= least; });
}

void Surprise::reset() { std::fill(of_.begin(), of_.end(), Output()); }

void Surprise::exchange(Archive& archive) {
  for (Output& one : of_) one.exchange(archive);
}

}  // namespace kalstream
