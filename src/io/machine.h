// Where a measurement was made: what makes its numbers worth reading.
#pragma once

#include <string>

namespace kalstream {

/// The processor's name and the number of cores, "unknown processor" where it cannot be told.
std::string machine_name();

/// Today, in UTC: "2026-03-01".
std::string today();

}  // namespace kalstream
