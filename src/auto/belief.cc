#include "auto/belief.h"

#include <algorithm>
#include <cmath>

#include "core/archive.h"

namespace kalstream {

Distance::Distance(const RunningMoments& inputs, std::span<const double> x,
                   const RunningMoments& targets, std::span<const double> d) {
  for (std::size_t k = 0; k < x.size(); ++k)
    input = std::max(input, std::abs(x[k] - inputs.mean(k)) / inputs.deviation(k));
  bool above = false;
  bool below = false;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const double off = (d[k] - targets.mean(k)) / targets.deviation(k);
    target = std::max(target, std::abs(off));
    above = above || off > constants::wild_target;
    below = below || off < -constants::wild_target;
  }
  side = static_cast<int>(above) - static_cast<int>(below);
}

bool Belief::believes(const Distance& distance) {
  const bool stays = targets_ > 0 && distance.side != 0 && distance.side == side_;
  side_ = distance.side;
  targets_ = distance.has_wild_target() ? targets_ + 1 : 0;
  inputs_ = distance.has_wild_input() ? inputs_ + 1 : 0;
  const bool target_is_believed =
      targets_ == 0 || targets_ >= (stays ? constants::patience_on_one_side : constants::patience);
  return target_is_believed && (inputs_ == 0 || inputs_ >= constants::patience);
}

void Belief::exchange(Archive& archive, std::uint64_t steps) {
  archive.count(targets_, steps);
  archive.count(inputs_, steps);
  std::uint64_t side = static_cast<std::uint64_t>(side_ + 1);
  archive.count(side, 2);
  side_ = static_cast<int>(side) - 1;
}

}  // namespace kalstream
