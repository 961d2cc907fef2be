// Results for machines: JSON of a comparison, CSV of every prediction.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream {

/// {"data":{…},"summary":[…],"runs":[…]}; numbers that do not exist are null.
std::string results_json(const Dataset& data, const std::vector<Outcome>& outcomes);

/// One line per learner, seed and step: what was predicted and what came.
std::string predictions_csv(const Dataset& data, const std::vector<Outcome>& outcomes);

}  // namespace kalstream
