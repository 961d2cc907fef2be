// The options by which people say what is known of a stream's time and future; the same for every
// command that forecasts.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "eval/timeline.h"

namespace kalstream::cli {

struct TimeArguments {
  std::vector<std::string> period;
  std::vector<std::string> future;
  std::string elapsed;  ///< yes, no; empty: decided by the data
};

/// --period, --future, --elapsed.
void add_time_options(CLI::App& command, TimeArguments& arguments);

/// In samples, the shortest first; none: there are none; nothing: not said.
std::optional<std::vector<double>> periods_of(const TimeArguments& arguments);

/// The elapsed time becomes an input where the data are irregular and the user has not said
/// otherwise. What people should know of that; empty: nothing.
std::string settle_elapsed(const TimeArguments& arguments, Dataset& data);

/// "step: 1 hour; periods: 24, 168 (told by the times)", with what is missing, late and repeated;
/// empty where rows have no times and no period is known. `found`: those the learner reckons with.
std::string time_report(const TimeArguments& arguments, const Timeline& timeline,
                        const std::vector<double>& found);

/// "24, 168"; "none".
std::string period_text(const std::vector<double>& periods);

}  // namespace kalstream::cli
