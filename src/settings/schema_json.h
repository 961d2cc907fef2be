// How a file or stream is understood, for programs.
#pragma once

#include <string>

#include "kalstream/learner.h"
#include "schema/dataset.h"

namespace kalstream {

/// {"source", "format", "delimiter", "decimal", "header", "time_form", "rows", "fields": [{"name",
/// "role", …}]}; what does not exist is null. docs/data.md describes it.
std::string schema_json(const Dataset& data);

/// Of what was learnt: {"learner", "samples", "time_form", "fields"}. `learner` may be nullptr.
std::string schema_json(const Schema& schema, const Learner* learner);

}  // namespace kalstream
