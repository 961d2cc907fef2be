// Predictions beside their targets, as a picture.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"
#include "view/chart.h"

namespace kalstream::cli {

/// The last `rows` rows of the first seed as SVG: a panel per learner and target (the first six),
/// with the bounds, which were to hold the part `coverage` of the targets; 0: there are none.
std::string predictions_chart(const Dataset& data, const std::vector<Outcome>& outcomes,
                              std::size_t rows, double coverage);

/// A band may be wide, as in the beginning, but must not make lines of all else: the axis ends this
/// share of the lines' height beyond them.
void limit_axis(view::Panel& panel, double share);

}  // namespace kalstream::cli
