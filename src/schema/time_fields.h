// Which fields of a record tell the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/record.h"
#include "schema/timestamp.h"

namespace kalstream {

struct FoundTime {
  std::vector<std::size_t> fields;  ///< none, one, or a date and a time of day
  TimeForm form = TimeForm::none;
  std::string guess;                ///< if it could be wrong: why
  std::vector<std::size_t> others;  ///< that are times as well, and no inputs
};

/// How a value that is known to be a time is written; nothing if it is none.
std::optional<FoundForm> time_in(const Value& value);

/// Among the fields that are free to be it. Text that is a time stamp; a number with a name that
/// speaks of time and the size of one counted from 1970; a number in a first field named "time", or
/// one without name of that size.
FoundTime time_fields(const Record& record, const std::vector<bool>& free);

}  // namespace kalstream
