// Predictions beside their targets, as a picture.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream::cli {

/// The last `rows` rows of the first seed as SVG: a panel per learner and target (the first six),
/// with the bounds, which were to hold the part `coverage` of the targets; 0: there are none.
std::string predictions_chart(const Dataset& data, const std::vector<Outcome>& outcomes,
                              std::size_t rows, double coverage);

}  // namespace kalstream::cli
