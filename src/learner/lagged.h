// Past targets as inputs.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// Hands `inner` [x ; d_{t−1} ; … ; d_{t−lags}], or without x if it has room for the targets only.
/// Its own predictions stand for targets that are missing, and in a forecast for those to come.
/// Without lags it is `inner` itself.
std::unique_ptr<Learner> make_lagged(std::unique_ptr<Learner> inner, std::size_t inputs,
                                     std::size_t lags);

}  // namespace kalstream
