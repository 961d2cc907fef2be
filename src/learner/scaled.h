// Running standardisation around a learner, so that raw data can be fed to it.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// `activation` is that of the inner learner's output.
std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation);

}  // namespace kalstream
