// What learners are made of: the scaler, past targets as inputs, baselines, and what is reported of
// a sample that cannot be used.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// Running standardisation, so that raw data can be fed to `inner`. `activation` is that of its
/// output. The last lags × outputs of its inputs are past targets: they are standardised as targets
/// are, so that d̂ = d_{t−1} stays a linear function. Targets with units of their own, classes and
/// counts, are learnt as they are.
std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation,
                                     std::size_t lags = 0, bool targets_as_they_are = false);

/// Hands `inner` [x ; d_{t−1} ; … ; d_{t−lags}], or without x if it has room for the targets only.
/// Its own predictions stand for targets that are missing, and in a forecast for those to come.
/// Without lags it is `inner` itself.
std::unique_ptr<Learner> make_lagged(std::unique_ptr<Learner> inner, std::size_t inputs,
                                     std::size_t lags);

/// d̂ = W [1 ; x/√inputs] from W = 0: what least squares fits.
NetworkOptions linear_network(std::size_t inputs, std::size_t outputs);

/// Its rule: with r = 1 and q = 0, W minimises Σ‖e‖² + ‖W‖²/p. No two outputs share a weight, so a
/// covariance for each loses nothing.
Iekf least_squares(double initial_covariance, const Schedule& process_noise);

// For make_learner. `options.rule` is `rule`.
std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Rls& rule);
std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Ar& rule);
std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Naive& rule);
std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Mean& rule);

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
