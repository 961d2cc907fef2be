// What can be wrong with a stream, by kind.
#pragma once

#include <array>
#include <cstddef>

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

}  // namespace kalstream
