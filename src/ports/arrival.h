// Something that has come, and where from.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "schema/record.h"

namespace kalstream {

/// A record, or why it could not be read as one.
struct Arrival {
  Record record;  ///< empty: it says nothing
  bool is_problem = false;
  std::string problem;

  std::string text = {};   ///< that it is read from, where that is done later
  std::uint64_t line = 0;  ///< of the source, from 1
  std::chrono::steady_clock::time_point since = {};
};

}  // namespace kalstream
