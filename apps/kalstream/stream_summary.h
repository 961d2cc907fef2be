// What a stream has done, at its end.
#pragma once

#include <string>

#include "monitor/status.h"

namespace kalstream::cli {

std::string summary(const StreamStatus& status);       ///< for people, lines without a last end
std::string summary_json(const StreamStatus& status);  ///< for programs

std::string class_summary(const ClassErrors& errors);  ///< for people, part of a line

}  // namespace kalstream::cli
