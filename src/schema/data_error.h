// Data that cannot be used.
#pragma once

#include <stdexcept>

namespace kalstream {

/// Bad data, with a message that names the file, the line and what to do.
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace kalstream
