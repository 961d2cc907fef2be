// What people say of a stream's time and future.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kalstream {

struct TimeChoice {
  std::vector<std::string> period;  ///< numbers of samples, or "none"; empty: not said
  std::vector<std::string> future;  ///< inputs known ahead of their time
  std::string elapsed;              ///< yes, no; empty: decided by the data
};

/// In samples, the shortest first; none: there are none; nothing: not said. Throws
/// std::invalid_argument.
std::optional<std::vector<double>> periods_of(const TimeChoice& choice);

}  // namespace kalstream
