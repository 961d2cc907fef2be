// What a classifier remembers of its stream, and what its experts see of a moment.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/belief.h"
#include "auto/row_memory.h"
#include "auto/scale.h"
#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

/// The last samples as they came, each with its class.
class ClassMemory {
 public:
  explicit ClassMemory(std::size_t inputs)
      : inputs_(inputs), rows_(inputs + 1, constants::class_memory) {}

  void push(std::span<const double> x, std::size_t y) {
    const auto row = rows_.push();
    std::ranges::copy(x, row.begin());
    row.back() = static_cast<double>(y);
  }

  std::size_t size() const { return rows_.size(); }
  std::uint64_t count() const { return rows_.count(); }
  /// Where the sample `age` ≥ 1 steps ago lies.
  std::size_t place(std::size_t age) const { return rows_.place(age); }
  std::span<const double> x(std::size_t place) const { return rows_.at(place).first(inputs_); }
  std::size_t label(std::size_t place) const {
    return static_cast<std::size_t>(rows_.at(place).back());
  }

  void reset() { rows_ = RowMemory(inputs_ + 1, constants::class_memory); }

  void exchange(Archive& archive, std::size_t classes) {
    rows_.exchange(archive);
    for (std::size_t age = 1; age <= size(); ++age) {
      archive.require(all_usable(x(place(age))));
      const double y = rows_.at(place(age)).back();
      archive.require(y >= 0 && y < static_cast<double>(classes) && y == std::floor(y));
    }
  }

 private:
  std::size_t inputs_;
  RowMemory rows_;
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
    to[k] = std::abs(v) > constants::wild_input
                ? 0
                : std::clamp(v, -RunningMoments::reach, RunningMoments::reach);
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
