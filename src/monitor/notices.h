// Warnings to print: the first of a kind at once, then no more than one a minute.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "monitor/warning.h"

namespace kalstream {

/// Counts all warnings and says which to print. A steady time is passed in with each: setting the
/// machine's clock neither hides warnings nor lets them flood.
class Notices {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Notices(Clock::duration interval = std::chrono::minutes(1)) : interval_(interval) {}

  /// The line to print, without its end, or nothing while the kind's interval lasts. What was held
  /// back before is in it as "(and 12 more)".
  std::optional<std::string> add(Warning kind, std::string_view text, Clock::time_point now);

  /// What was held back and may be printed by now, one line per kind, each with its end; often
  /// empty. To be asked now and then: nothing else may come that would bring them along.
  std::string due(Clock::time_point now) { return held_back(now, false); }

  /// All that was held back, for the end of the stream.
  std::string rest() { return held_back({}, true); }

  /// Warnings of each kind, printed or not, in the order of Warning.
  const std::array<std::uint64_t, warning_kinds>& counts() const { return counts_; }

 private:
  struct Kind {
    std::optional<Clock::time_point> next;  // none before the first
    std::uint64_t held = 0;
    std::string last;  // of those held back
  };

  std::string held_back(Clock::time_point now, bool all);

  Clock::duration interval_;
  std::array<std::uint64_t, warning_kinds> counts_{};
  std::array<Kind, warning_kinds> kinds_;
};

}  // namespace kalstream
