// What somebody may have meant by a name that there is not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kalstream {

/// The candidate that a slip of the keys could have turned into `name`: fewest letters left out,
/// added, exchanged or swapped with their neighbour, the first of several such; upper and lower
/// case count as one. None if even the nearest is another word: more than one slip for every three
/// letters.
std::optional<std::string> closest(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?", to end a complaint about a name; empty if nothing is close.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace kalstream
