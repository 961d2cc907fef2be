// What a classifier remembers of its stream, and what its experts see of a moment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/belief.h"
#include "auto/scale.h"
#include "core/archive.h"

namespace kalstream {

/// The last samples as they came, each with its class.
class ClassMemory {
 public:
  static constexpr std::size_t capacity = 2000;

  explicit ClassMemory(std::size_t inputs)
      : inputs_(inputs), rows_(capacity * inputs), labels_(capacity) {}

  void push(std::span<const double> x, std::size_t y) {
    const std::size_t at = static_cast<std::size_t>(count_++ % capacity);
    std::copy(x.begin(), x.end(), rows_.begin() + static_cast<std::ptrdiff_t>(at * inputs_));
    labels_[at] = y;
  }

  std::size_t size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(count_, capacity));
  }
  std::uint64_t count() const { return count_; }  ///< all there have been

  /// Where the sample `age` ≥ 1 steps ago lies.
  std::size_t place(std::size_t age) const {
    return static_cast<std::size_t>((count_ - age) % capacity);
  }
  std::span<const double> x(std::size_t place) const {
    return std::span(rows_).subspan(place * inputs_, inputs_);
  }
  std::size_t label(std::size_t place) const { return labels_[place]; }

  void reset() { count_ = 0; }

  void exchange(Archive& archive, std::size_t classes) {
    archive.count(count_);
    for (std::size_t age = size(); age > 0; --age) {
      archive.run(std::span(rows_).subspan(place(age) * inputs_, inputs_), Archive::usable);
      archive.count(labels_[place(age)], classes - 1);
    }
  }

 private:
  std::size_t inputs_;
  std::uint64_t count_ = 0;  // pushed so far
  std::vector<double> rows_;
  std::vector<std::size_t> labels_;
};

constexpr std::size_t no_class = ~std::size_t{0};

/// How the classes before a moment are shown to a network: of two classes by one number, ±1, of
/// more by one for each.
struct LabelCode {
  std::size_t classes;
  std::size_t size() const { return classes == 2 ? 1 : classes; }
  void write(std::size_t y, std::span<double> to) const {
    if (classes == 2) {
      to[0] = y == 1 ? 1 : y == 0 ? -1 : 0;
      return;
    }
    std::fill(to.begin(), to.end(), 0.0);
    if (y < classes) to[y] = 1;
  }
};

/// Inputs in deviations; one that is beyond belief says nothing.
inline void see_inputs(const HeldMoments& scale, std::span<const double> x, std::span<double> to) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double v = scale.standardised(k, x[k]);
    to[k] = std::abs(v) > constants::wild_input ? 0 : std::clamp(v, -RunningMoments::reach, RunningMoments::reach);
  }
}

/// A sample as the experts see it.
struct ClassMoment {
  std::span<const double> x;     ///< as it came
  std::span<const double> seen;  ///< standardised, and the classes before it, the newest first
  std::size_t last;              ///< the class before it; no_class if there was none
  std::uint64_t step;
};

}  // namespace kalstream
