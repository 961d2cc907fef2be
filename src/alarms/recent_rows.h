// A part of Strangeness: the last few rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/archive.h"

namespace kalstream {

/// The last numbers of one kind, the newest last. Sums are made anew for every row, so that their
/// rounding does not build up.
class RecentRows {
 public:
  static constexpr std::size_t most = 64;

  void add(double v) {
    newest_ = (newest_ + 1) % most;
    values_[newest_] = v;
    count_ = std::min(count_ + 1, most);
  }

  /// The value `age` rows ago, 0 for the newest.
  double at(std::size_t age) const { return values_[(newest_ + most - age) % most]; }
  std::size_t count() const { return count_; }

  double mean(std::size_t rows, std::size_t from_age = 0) const {
    return sum(rows, from_age, [](double v) { return v; });
  }
  double mean_size(std::size_t rows) const {
    return sum(rows, 0, [](double v) { return std::abs(v); });
  }
  double largest(std::size_t rows) const {
    double top = 0;
    for (std::size_t age = 0; age < std::min(rows, count_); ++age) top = std::max(top, at(age));
    return top;
  }

  void exchange(Archive& archive) {
    archive.run(values_, Archive::finite);
    archive.count(newest_, most - 1);
    archive.count(count_, most);
  }

 private:
  double sum(std::size_t rows, std::size_t from_age, const auto& of) const {
    const std::size_t end = std::min(from_age + rows, count_);
    if (end <= from_age) return 0;
    double total = 0;
    for (std::size_t age = from_age; age < end; ++age) total += of(at(age));
    return total / static_cast<double>(end - from_age);
  }

  std::array<double, most> values_{};
  std::size_t newest_ = 0;
  std::size_t count_ = 0;
};

}  // namespace kalstream
