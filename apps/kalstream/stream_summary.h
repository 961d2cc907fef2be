// What is told of a stream: of its times, and at its end of all it has done.
#pragma once

#include <string>
#include <vector>

#include "eval/progressive.h"
#include "monitor/status.h"
#include "schema/future.h"

namespace kalstream::cli {

std::string summary(const StreamStatus& status);       ///< for people, lines without a last end
std::string summary_json(const StreamStatus& status);  ///< for programs

/// "step: 1 hour; periods: 24, 168 (told by the times)", with what is missing, late and repeated;
/// empty where rows have no times and no period is known.
std::string time_report(const TimeChoice& choice, const RunResult& run);
std::string period_text(const std::vector<double>& periods);  ///< "24, 168"; "none"
std::string class_summary(const ClassErrors& errors);         ///< for people, part of a line

}  // namespace kalstream::cli
