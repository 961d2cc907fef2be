// Results for machines: JSON of a comparison, CSV of every prediction.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream {

/// null for what JSON has no number for.
nlohmann::ordered_json json_number(double v);

/// How good probabilities of classes have been, as the summary of a stream has it, too.
nlohmann::ordered_json class_json(const ClassErrors& errors);

/// {"data":{…},"summary":[…],"runs":[…]}, of the same shape whatever the target is; numbers that do
/// not exist are null. The outcomes are those of the contenders, in their order. `nominal` is the
/// coverage that was asked for, 0 if none.
std::string results_json(const Dataset& data, const std::vector<Contender>& contenders,
                         double nominal, const std::vector<Outcome>& outcomes);

/// One line per learner, seed and step: what was predicted and what came, with the bounds and the
/// forecasts there are. What `stream` answers, too, has the same name here.
std::string predictions_csv(const Dataset& data, const std::vector<Outcome>& outcomes);

// Where a measurement was made: what makes its numbers worth reading.

/// The processor's name and the number of cores, "unknown processor" where it cannot be told.
std::string machine_name();
/// Today, in UTC: "2026-03-01".
std::string today();

}  // namespace kalstream
