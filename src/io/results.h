// Results for machines: JSON of a comparison, CSV of every prediction.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream {

/// {"data":{…},"summary":[…],"runs":[…]}; numbers that do not exist are null. The outcomes are
/// those of the contenders, in their order.
std::string results_json(const Dataset& data, const std::vector<Contender>& contenders,
                         const std::vector<Outcome>& outcomes);

/// One line per learner, seed and step: what was predicted and what came.
std::string predictions_csv(const Dataset& data, const std::vector<Outcome>& outcomes);

}  // namespace kalstream
