// A part of Surprise: where values are, and how far from there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/archive.h"

namespace kalstream {

/// A slow mean m of values d, and S of their distances from it, neither of which one value can move
/// by much, with μ = max(1/n, 1/8192):
///
///   m ← m + μ·clamp(d − m, ±16S),   S ← S + μ·(min(|d − m|, 16S) − S)
///
/// A distance is news where none was larger lately: R ← max(|d − m|, (1 − 1/64)R). So a value that
/// stays where no other was before is told once, and again if it goes further.
class UsualPlace {
 public:
  double distance(double d) const { return std::abs(d - mean_); }
  double usual_distance() const { return usual_; }
  bool is_news(double d) const { return distance(d) >= largest_lately_ * (1 - fading); }

  void learn(double d) {
    ++n_;
    if (n_ == 1) mean_ = d;
    const double pace = std::max(1 / static_cast<double>(n_), slow);
    const double off = d - mean_;
    const double most = usual_ > 0 ? largest_step * usual_ : std::abs(off);
    largest_lately_ = std::max(std::abs(off), largest_lately_ * (1 - fading));
    mean_ += pace * std::clamp(off, -most, most);
    usual_ += pace * (std::min(std::abs(off), most) - usual_);
    // What fades away for months must not end as the least of numbers.
    if (usual_ < least) usual_ = 0;
    if (largest_lately_ < least) largest_lately_ = 0;
  }

  void exchange(Archive& archive) {
    const auto size = [](double v) { return v >= 0 && v <= 4 * largest_magnitude; };
    archive.count(n_);
    archive.number(mean_, Archive::usable);
    archive.number(usual_, size);
    archive.number(largest_lately_, size);
  }

 private:
  static constexpr double slow = 1.0 / 8192;
  static constexpr double fading = 1.0 / 64;
  static constexpr double largest_step = 16;  // times the usual distance
  static constexpr double least = 1e-200;

  std::uint64_t n_ = 0;
  double mean_ = 0;            // m
  double usual_ = 0;           // S
  double largest_lately_ = 0;  // R
};

}  // namespace kalstream
