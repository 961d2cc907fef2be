// What this program is.
#pragma once

#include <string>

namespace kalstream::cli {

/// Version, commit and compiler it was made from and by, and the kernels it uses here: a line each.
std::string about();

}  // namespace kalstream::cli
