// Which samples `auto` believes.
#pragma once

#include <cstdint>
#include <span>

#include "auto/constants.h"
#include "core/moments.h"

namespace kalstream {

class Archive;

/// How far a sample is from what came before, in deviations: the number that is farthest.
struct Distance {
  Distance() = default;
  Distance(const RunningMoments& inputs, std::span<const double> x, const RunningMoments& targets,
           std::span<const double> d);

  bool is_far() const { return target > constants::far_target || input > RunningMoments::reach; }
  bool has_wild_target() const { return target > constants::wild_target; }
  bool has_wild_input() const { return input > constants::wild_input; }
  bool is_wild() const { return has_wild_target() || has_wild_input(); }

  double target = 0;
  double input = 0;
  int side = 0;  ///< of the mean, where all wild targets are; 0: on either, or there are none
};

/// Whether a sample is believed. A wild one is not, unless it is the third in a row; or the second,
/// where targets stay on one side of the mean: a new level.
class Belief {
 public:
  /// Of the next sample.
  bool believes(const Distance& distance);
  void reset() { *this = {}; }
  void exchange(Archive& archive, std::uint64_t steps);

 private:
  int side_ = 0;             // of the last target
  std::size_t targets_ = 0;  // wild ones in a row
  std::size_t inputs_ = 0;
};

}  // namespace kalstream
