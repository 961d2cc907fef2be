// What the times of a stream have told, in words.
#pragma once

#include <string>
#include <vector>

#include "eval/progressive.h"
#include "schema/dataset.h"
#include "schema/time_choice.h"

namespace kalstream::cli {

/// The elapsed time becomes an input where the data are irregular and the user has not said
/// otherwise. What people should know of that; empty: nothing.
std::string settle_elapsed(const TimeChoice& arguments, Dataset& data);

/// "step: 1 hour; periods: 24, 168 (told by the times)", with what is missing, late and repeated;
/// empty where rows have no times and no period is known.
std::string time_report(const TimeChoice& arguments, const RunResult& run);

/// "24, 168"; "none".
std::string period_text(const std::vector<double>& periods);

}  // namespace kalstream::cli
