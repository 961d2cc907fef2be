#pragma once

namespace kalstream {

/// "major.minor.patch" of the library that is linked.
const char* version();

}  // namespace kalstream
