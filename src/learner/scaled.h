// Running standardisation around a learner, so that raw data can be fed to it.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// `activation` is that of the inner learner's output. The last lags × outputs of its inputs are
/// past targets: they are standardised as targets are, so that d̂ = d_{t−1} stays a linear function.
/// Targets with units of their own, classes and counts, are learnt as they are.
std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation,
                                     std::size_t lags = 0, bool targets_as_they_are = false);

}  // namespace kalstream
