// What one step did, and what a learner knows of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kalstream {

enum class StepStatus : std::uint8_t {
  applied,              ///< the weights were updated
  gated,                ///< the rule chose not to learn from this error
  missing,              ///< no target: the state moved on, the weights stayed
  rejected_input,       ///< x or d of the wrong size or not finite, or x beyond ±1e100: no change
  rejected_non_finite,  ///< the update would have overflowed: the weights stayed
  /// P is not a covariance along H, or a variance would be ≤ 0: the weights stayed, and P was
  /// mended, so that rounding cannot refuse every later update as well (docs/robustness.md).
  rejected_covariance,
};

constexpr bool is_rejected(StepStatus s) { return s >= StepStatus::rejected_input; }

const char* to_string(StepStatus status);

/// What a learner can be asked at any time.
struct LearnerState {
  std::size_t networks = 1;     ///< that take a step: StepReport::experts
  double covariance_trace = 0;  ///< Σ Tr P over all blocks and networks; 0 without P
  /// How much each expert of a mixture counts, together 1, in the order of expert_names(); empty
  /// otherwise. A view into the learner, valid until its next call.
  std::span<const double> weights;
};

struct StepReport {
  StepStatus status = StepStatus::applied;  ///< of a mixture: of the expert that did the most
  std::size_t experts = 1;                  ///< how many networks took the step …
  std::size_t applied = 0;                  ///< … how many of them updated …
  std::size_t rejected = 0;                 ///< … and how many updates were rejected
  double covariance_trace = 0;              ///< Σ Tr P over all blocks and experts; 0 without P
  /// How much each expert of a mixture counts after the step, together 1, in the order of
  /// expert_names(); empty otherwise. A view into the learner, valid until its next call.
  std::span<const double> weights;
};

}  // namespace kalstream
