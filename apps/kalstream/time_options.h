// The options by which people say what is known of a stream's time and future; the same for every
// command that forecasts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "eval/timeline.h"
#include "schema/time_choice.h"

namespace kalstream::cli {

/// --period, --future, --elapsed.
void add_time_options(CLI::App& command, TimeChoice& arguments);

/// The elapsed time becomes an input where the data are irregular and the user has not said
/// otherwise. What people should know of that; empty: nothing.
std::string settle_elapsed(const TimeChoice& arguments, Dataset& data);

/// "step: 1 hour; periods: 24, 168 (told by the times)", with what is missing, late and repeated;
/// empty where rows have no times and no period is known. `found`: those the learner reckons with.
std::string time_report(const TimeChoice& arguments, const Timeline& timeline,
                        const std::vector<double>& found);

/// "24, 168"; "none".
std::string period_text(const std::vector<double>& periods);

}  // namespace kalstream::cli
