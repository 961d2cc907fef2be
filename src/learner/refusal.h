// What a learner reports of a sample it cannot use.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// All stays as it is, and none of its networks took a step.
inline StepReport refusal(const Learner& learner) {
  const LearnerState state = learner.state();
  return {.status = StepStatus::rejected_input,
          .experts = state.networks,
          .rejected = state.networks,
          .covariance_trace = state.covariance_trace,
          .weights = state.weights};
}

}  // namespace kalstream
