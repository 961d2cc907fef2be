// A running stream at a glance, for terminals.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "monitor/status.h"

namespace kalstream {

/// What the view needs besides the status.
struct TopContext {
  std::vector<double> past_errors = {};  ///< recent RMSE at each look so far, the newest last
  double every = 2;                      ///< seconds between two looks
  std::string source = {};               ///< where the numbers come from
  std::string trouble = {};              ///< if they do not come any more: why
  bool colours = false;
};

/// At most `height` lines of at most `width` columns, without line ends. Experts fill what the rest
/// leaves, the heaviest first, whatever the sign.
std::vector<std::string> top_view(const StreamStatus& status, const TopContext& context,
                                  std::size_t width, std::size_t height);

/// The same on one line, for files.
std::string top_line(const StreamStatus& status);

/// The last `width` values as "▁▂▅█": the lowest of them to the highest; blank for NaN.
std::string sparkline(std::span<const double> values, std::size_t width);

/// "182 MB".
std::string format_bytes(std::uint64_t bytes);

}  // namespace kalstream
