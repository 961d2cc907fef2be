// What people say of a stream's time and future: its periods, which inputs are known ahead of their
// time, and the time as an input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kalstream/schema.h"

namespace kalstream {

struct TimeChoice {
  std::vector<std::string> period;  ///< numbers of samples, or "none"; empty: not said
  std::vector<std::string> future;  ///< inputs known ahead of their time
  std::string elapsed;              ///< yes, no; empty: decided by the data
};

/// In samples, the shortest first; none: there are none; nothing: not said. Throws
/// std::invalid_argument.
std::optional<std::vector<double>> periods_of(const TimeChoice& choice);

/// For every input whether the user has named it (or its category) among those known ahead, and of
/// the elapsed time, which follows from when a sample comes. Throws SchemaError for a name that is
/// no input.
std::vector<bool> known_ahead(const Schema& schema, const std::vector<std::string>& future);

/// What people should know: which inputs a forecast holds at their last values. Empty: none.
std::string held_ahead(const Schema& schema, const std::vector<bool>& known);

/// The last input may be the time since the sample before, in seconds: no field of any record.
bool is_elapsed(const Schema::Field& field);
bool has_elapsed(const Schema& schema);
void add_elapsed(Schema& schema);

}  // namespace kalstream
