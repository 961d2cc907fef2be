// The bytes of a file, whether compressed or not. Internal to src/data.
#pragma once

#include <string>

namespace kalstream {

/// All of a file or pipe; what gzip compressed is expanded. Throws DataError.
std::string read_bytes(const std::string& path);

}  // namespace kalstream
