// How a file or stream is understood, for programs.
#pragma once

#include <string>

#include "data/dataset.h"

namespace kalstream {

/// {"source", "format", "delimiter", "decimal", "header", "time_form", "rows", "fields": [{"name",
/// "role", …}]}; what does not exist is null. docs/data.md describes it.
std::string schema_json(const Dataset& data);

}  // namespace kalstream
