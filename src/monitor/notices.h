// What can be wrong with a stream, by kind; and which warnings to print: the first of a kind at
// once, then no more than one a minute.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kalstream {

/// Kinds of warnings; docs/monitoring.md says what to do about each.
enum class Warning {
  stuck_input,        ///< an input that varied stays at one value
  unusual_input,      ///< an input far outside all that was seen
  drift,              ///< errors have grown
  exploding_error,    ///< errors many times what was usual
  coverage,           ///< intervals hold the target far more or less often than they say
  refused_line,       ///< a line could not be used
  late_label,         ///< a target came after its sample was given up
  untimely_sample,    ///< a sample came after a later one, or a second time
  rejected_update,    ///< the learner's own guard refused an update
  failed_checkpoint,  ///< a checkpoint could not be written
  failed_metrics,     ///< the file for metrics could not be written
};

inline constexpr std::size_t warning_kinds = 11;

/// As metrics name it: "stuck_input".
constexpr const char* to_string(Warning kind) {
  constexpr std::array<const char*, warning_kinds> names = {
      "stuck_input",     "unusual_input",     "drift",         "exploding_error",
      "coverage",        "refused_line",      "late_label",    "untimely_sample",
      "rejected_update", "failed_checkpoint", "failed_metrics"};
  return names[static_cast<std::size_t>(kind)];
}

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
