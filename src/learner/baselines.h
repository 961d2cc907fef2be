// What a network should beat: a linear model, the last target, the mean.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

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

}  // namespace kalstream
