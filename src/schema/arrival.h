// A record that has come from a source.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "schema/record.h"

namespace kalstream {

struct Sample;

/// A record, or why it could not be read as one.
struct Arrival {
  Record record = {};  ///< empty: it says nothing
  /// What a record has been read as before; then `record` is not looked at, and the engine must
  /// have been given its schema.
  const Sample* sample = nullptr;
  bool is_problem = false;
  std::string problem = {};

  std::string text = {};   ///< the record is read from this, where that is done later
  std::uint64_t line = 0;  ///< of the source, from 1
  std::chrono::steady_clock::time_point since = {};  ///< when it came, as far as that is known

  bool has_record() const { return !is_problem && sample == nullptr; }
  /// There is nothing to answer.
  bool is_silent() const { return has_record() && record.empty(); }
};

}  // namespace kalstream
