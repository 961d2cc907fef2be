// The description of the API, as it was packed when this program was built.
#pragma once

#include <string_view>

namespace kalstream::serve {

std::string_view openapi_json();

}  // namespace kalstream::serve
