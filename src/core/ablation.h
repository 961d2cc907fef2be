// What `make ablation` takes out of `auto`, or changes, one at a time. A usual build has none of it.
#pragma once

#include <string_view>
#ifdef KALSTREAM_ABLATION
#include <map>
#include <string>
#endif

namespace kalstream {

#ifdef KALSTREAM_ABLATION

/// The value that KALSTREAM_ABLATION=NAME=VALUE[,…] in the environment gives to this constant, or
/// else its own.
double ablated(std::string_view name, double value);
/// Whether KALSTREAM_ABLATION has without=NAME for this expert.
bool is_left_out(std::string_view expert);

/// The constants that can be changed, and all experts there have been, with their own values and 0.
std::map<std::string, double>& ablation_parts();

#define KALSTREAM_CONSTANT(type, name, value) \
  inline const type name = static_cast<type>(::kalstream::ablated(#name, value))

#else

constexpr bool is_left_out(std::string_view /*expert*/) { return false; }

#define KALSTREAM_CONSTANT(type, name, value) inline constexpr type name = value

#endif

}  // namespace kalstream
