// A part of Surprise: how rare sizes are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "core/archive.h"

namespace kalstream {

/// The probability of a size at least as large as v, by those before, of which the last few
/// thousand count most. They are counted in bins of equal width in log v. With the weights w of all
/// of them,
///
///   P(v) = (Σ_{above v} w + ½) / (Σ w + 1)
///
/// up to the size u that 1/32 of them exceed, and beyond it a generalised Pareto tail,
///
///   P(v) = P(u)·G_ξ((v − u)/β),   G_ξ(x) = (1 + ξx)^(−1/ξ),
///
/// fitted to what they exceed u by, x, with a₀ = E x and a₁ = E x(1 − F(x)), F its distribution:
///
///   ξ = 2 − a₀/(a₀ − 2a₁),  drawn towards 0.2 as by 50 others,   β = a₀(1 − ξ)
///
/// One part in as many as exceed u, and one more, has ξ = 0.2, whatever they say: so few cannot
/// tell where sizes end.
class Rarity {
 public:
  static constexpr double largest = 1e6;

  Rarity() { reset(); }

  /// As if there had been a few before, of an exponential distribution of mean 1.
  void reset() {
    bin_.fill(0);
    total_ = 0;
    weight_ = 1;
    for (std::size_t i = 0; i < pretended; ++i)
      add(-std::log((static_cast<double>(i) + 0.5) / pretended));
    fit();
  }

  double of(double v) const {
    if (v < threshold_) return among(v);
    const double x = (v - threshold_) / beta_;
    return exceeding_ * std::lerp(pareto(x, xi_), pareto(x, usual_xi), heavy_);
  }

  /// A size so rare that there should not have been one yet counts as the largest that might have.
  void learn(double v) {
    const double least = exceeding_ > 0 ? unlikely * weight_ / (total_ * exceeding_) : 1;
    const double most = pareto_at(std::min(least, 1.0), std::max(xi_, usual_xi));
    add(std::min({v, threshold_ + beta_ * most, largest}));
    fit();
  }

  void exchange(Archive& archive) {
    archive.numbers(bin_, [](double b) { return b >= 0 && b <= 2 * memory * largest_weight; });
    archive.number(total_, Archive::positive);
    archive.number(weight_, [](double w) { return w >= 1 && w <= largest_weight; });
    const double sum = std::accumulate(bin_.begin(), bin_.end(), 0.0);
    archive.require(std::abs(total_ - sum) <= 1e-6 * sum);
    archive.require(total_ >= least_total * weight_ && total_ <= 2 * memory * weight_);
    fit();
  }

 private:
  static constexpr int per_octave = 8;
  static constexpr int first_octave = -16;
  static constexpr int octaves = 36;  // up to 2²⁰ > largest
  static constexpr std::size_t bins = std::size_t{octaves} * per_octave;
  static constexpr double memory = 4096;  // sizes
  static constexpr double largest_weight = 1e9;
  static constexpr double forgotten = 1e-30;
  static constexpr std::size_t pretended = 20;
  static constexpr double least_total = 10;        // sizes, or it is none of ours
  static constexpr double tail_part = 1.0 / 32;    // of all sizes …
  static constexpr double tail_least = pretended;  // … and so many
  static constexpr double unlikely = 0.1;          // to be seen once in all sizes so far
  static constexpr double usual_xi = 0.2;
  static constexpr double usual_counts = 50;
  static constexpr double least_xi = -0.1;
  static constexpr double largest_xi = 0.9;

  static double edge(std::size_t i) {
    static const std::array<double, bins + 1> edges = [] {
      std::array<double, bins + 1> all{};
      for (std::size_t j = 0; j <= bins; ++j)
        all[j] = std::exp2(static_cast<double>(j) / per_octave + first_octave);
      return all;
    }();
    return edges[i];
  }

  // In bins; the part behind the point is the place within one.
  static double place(double v) {
    if (!(v > edge(0))) return 0;
    return std::min((std::log2(v) - first_octave) * per_octave, static_cast<double>(bins) - 1e-9);
  }

  static double pareto(double x, double xi) {
    if (std::abs(xi) < 1e-6) return std::exp(-x);
    return std::pow(std::max(1 + xi * x, 0.0), -1 / xi);
  }
  // Where G is p.
  static double pareto_at(double p, double xi) { return (std::pow(p, -xi) - 1) / xi; }

  double among(double v) const {
    const double at = place(v);
    const auto i = static_cast<std::size_t>(at);
    double above = bin_[i] * (1 - (at - std::floor(at)));
    for (std::size_t j = i + 1; j < bins; ++j) above += bin_[j];
    return share(above);
  }
  double share(double above) const {
    return std::min((above + 0.5 * weight_) / (total_ + weight_), 1.0);
  }

  // Later ones count more, which is the same as that earlier ones are forgotten.
  void add(double v) {
    bin_[static_cast<std::size_t>(place(v))] += weight_;
    total_ += weight_;
    weight_ *= memory / (memory - 1);
    if (weight_ < largest_weight) return;
    for (double& b : bin_) b = b < forgotten * weight_ ? 0 : b / weight_;
    total_ = std::accumulate(bin_.begin(), bin_.end(), 0.0);
    weight_ = 1;
  }

  void fit() {
    const double wanted = std::max(tail_least * weight_, tail_part * total_);
    std::size_t u = bins;
    double n = 0;
    while (u > 0 && n < wanted) n += bin_[--u];
    threshold_ = u > 0 ? edge(u) : 0;
    double a0 = 0;
    double a1 = 0;
    double above = n;
    for (std::size_t j = u; j < bins; ++j) {
      if (bin_[j] == 0) continue;
      const double middle = j > 0 ? (edge(j) + edge(j + 1)) / 2 : 0;
      const double x = std::max(middle - threshold_, 0.0);
      a0 += bin_[j] / n * x;
      a1 += bin_[j] / n * x * (above - bin_[j] / 2) / n;
      above -= bin_[j];
    }
    const double counts = n / weight_;
    const double difference = a0 - 2 * a1;
    const double xi = difference > 0 ? 2 - a0 / difference : largest_xi;
    xi_ = (counts * std::clamp(xi, -largest_xi, largest_xi) + usual_counts * usual_xi) /
          (counts + usual_counts);
    xi_ = std::max(xi_, least_xi);
    beta_ = std::max(a0 * (1 - xi_), std::numeric_limits<double>::min());
    exceeding_ = share(n);
    heavy_ = 1 / (counts + 1);
  }

  std::array<double, bins> bin_{};
  double total_ = 0;
  double weight_ = 1;  // of the next

  // The tail, as fitted.
  double threshold_ = 0;  // u
  double exceeding_ = 1;  // P(u)
  double xi_ = usual_xi;
  double beta_ = 1;
  double heavy_ = 1;
};

}  // namespace kalstream
