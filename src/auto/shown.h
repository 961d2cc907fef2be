// The last value and the mean, as experts.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// d̂ = x: says what it is shown. In `auto` the last value goes along with the blend where targets
/// are missing or still to come, and the mean is the one that sets the scale; both are known
/// already and are shown to such an expert. It has nothing to learn: no network, no state, no
/// samples.
std::unique_ptr<Learner> make_shown(std::size_t outputs);

}  // namespace kalstream
