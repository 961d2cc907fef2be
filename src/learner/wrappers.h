// Learners around others: the scaler, and past targets as inputs.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// Running standardisation, so that raw data can be fed to `inner`. `activation` is that of its
/// output. The last lags × outputs of its inputs are past targets: they are standardised as targets
/// are, so that d̂ = d_{t−1} stays a linear function. Targets with units of their own, classes and
/// counts, are learnt as they are.
std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation,
                                     std::size_t lags = 0, bool targets_as_they_are = false);

/// Hands `inner` [x ; d_{t−1} ; … ; d_{t−lags}], or without x if it has room for the targets only.
/// Its own predictions stand for targets that are missing, and in a forecast for those to come.
/// Without lags it is `inner` itself.
std::unique_ptr<Learner> make_lagged(std::unique_ptr<Learner> inner, std::size_t inputs,
                                     std::size_t lags);

}  // namespace kalstream
