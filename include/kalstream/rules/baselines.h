// What a network should beat: the last target, the mean, linear models. Of NetworkOptions they read
// inputs and outputs only; they take data in any units.
#pragma once

#include <cstddef>

#include "kalstream/rules/rule.h"

namespace kalstream {

/// d̂ is the last target; 0 before there is one.
struct Naive {
  void validate() const {}
  static const RuleInfo<Naive>& info();
};

/// d̂ is the mean of the targets so far; 0 before there is one.
struct Mean {
  void validate() const {}
  static const RuleInfo<Mean>& info();
};

/// Recursive least squares on the inputs and a constant: a linear model under Ekf with r = 1, both
/// standardised as the stream goes.
struct Rls {
  double initial_covariance = 1;
  Schedule process_noise = 0;
  void validate() const;
  static const RuleInfo<Rls>& info();
};

/// The same on the last targets instead of the inputs: an autoregression.
struct Ar {
  std::size_t lags = 8;  ///< targets, ≥ 1
  double initial_covariance = 100;
  Schedule process_noise = 0;
  void validate() const;
  static const RuleInfo<Ar>& info();
};

}  // namespace kalstream
