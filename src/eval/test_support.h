// Shared by the tests of evaluations.
#pragma once

#include "eval/outlook.h"
#include "eval/progressive.h"

namespace kalstream {

/// A run of a copy of the learner.
inline RunResult evaluate(const Learner& learner, const Dataset& data,
                          const EvaluationOptions& options) {
  CalibratedLearner copy(learner.clone());
  return evaluate(copy, data, options);
}

/// What a copy of the learner forecasts after the stream; of streams with one model.
inline Outlook look_ahead(const Learner& learner, const Dataset& data, EvaluationOptions options,
                          bool backtest = false) {
  Outlooks outlooks(data, options, backtest);
  return outlooks.take(evaluate(learner, data, options)).front();
}

}  // namespace kalstream
