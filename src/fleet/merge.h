// Two topics become one, exactly once: what comes in on two has no order that could be had again.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "fleet/fleet_record.h"
#include "kafka/admin.h"

namespace kalstream::fleet {

struct MergeOptions {
  std::array<std::string, 2> inputs;  ///< samples and labels: of the same time the first is first
  std::string output;
  std::string name;      ///< the group is NAME-merge
  std::string instance;  ///< of this process, among those that merge the same topics
  kafka::Milliseconds transaction{100};
};

inline constexpr const char* source_header = "kalstream-source";  ///< the topic it came from

/// Copies every record of both to the same partition of the output, with its key, value and
/// headers, and `kalstream-source`. In transactions, so that each is there once whatever happens.
/// Ends when `stop` says so. Throws DataError if the topics do not fit together.
void merge(const kafka::Configuration& configuration, const MergeOptions& options,
           const std::function<bool()>& stop, const Say& say);

}  // namespace kalstream::fleet
