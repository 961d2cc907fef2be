// The second part of Intervals: how errors are distributed, in units of their size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// The last scores e/σ, in order of time and of size. At the start, those of a Laplace
/// distribution.
class ScoreWindow {
 public:
  static constexpr std::size_t window = 1024;
  static constexpr double largest = 1e6;
  static constexpr double tail = 0.25;  // ξ

  /// `pretended` scores are in it at the start.
  explicit ScoreWindow(std::size_t pretended = 20)
      : pretended_(pretended), by_time_(window), by_size_(window) {
    reset();
  }

  // Put in by size, one tail would leave the window first. Steps by the golden ratio mix them.
  void reset() {
    n_ = oldest_ = 0;
    const auto n = static_cast<double>(pretended_);
    auto step = static_cast<std::size_t>(n / std::numbers::phi);
    while (std::gcd(step, pretended_) != 1) ++step;
    for (std::size_t i = 0; i < pretended_; ++i) {
      const double u = (static_cast<double>(i * step % pretended_) + 0.5) / n;
      add(u < 0.5 ? std::log(2 * u) : -std::log(2 * (1 - u)));
    }
  }

  void add(double score) {
    score = std::clamp(score, -largest, largest);
    if (n_ == window) {
      const auto old = std::lower_bound(by_size_.begin(), end(), by_time_[oldest_]);
      std::copy(old + 1, end(), old);
      --n_;
      by_time_[oldest_] = score;
      oldest_ = (oldest_ + 1) % window;
    } else {
      by_time_[n_] = score;
    }
    const auto place = std::upper_bound(by_size_.begin(), end(), score);
    std::copy_backward(place, end(), end() + 1);
    *place = score;
    ++n_;
  }

  /// The score that a part p of all lies above …
  double above(double p) const {
    return outer(p, [this](std::size_t i) { return by_size_[n_ - 1 - i]; });
  }
  /// … or below.
  double below(double p) const {
    return -outer(p, [this](std::size_t i) { return -by_size_[i]; });
  }

  void exchange(Archive& archive) {
    std::size_t n = n_;
    archive.count(n, window);
    if (archive.reading()) n_ = oldest_ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double score = by_time_[(oldest_ + i) % window];
      archive.number(score, [](double v) { return std::abs(v) <= largest; });
      if (archive.reading()) add(score);
    }
    archive.require(n_ >= pretended_);
  }

 private:
  std::vector<double>::iterator end() { return by_size_.begin() + static_cast<std::ptrdiff_t>(n_); }

  // The score of rank p(n + 1) from the outermost in, which is at(0). Beyond it a generalised
  // Pareto tail that grows by σ at first: at(0) + (rank^−ξ − 1)/ξ.
  template <class At>
  double outer(double p, At at) const {
    const double rank = p * static_cast<double>(n_ + 1);
    if (rank < 1) return at(0) + (std::pow(rank, -tail) - 1) / tail;
    const auto i = std::min(static_cast<std::size_t>(rank), n_ - 1);
    return std::lerp(at(i - 1), at(i), std::min(rank - static_cast<double>(i), 1.0));
  }

  std::size_t pretended_;
  std::size_t n_ = 0;
  std::size_t oldest_ = 0;
  std::vector<double> by_time_;
  std::vector<double> by_size_;
};

}  // namespace kalstream
