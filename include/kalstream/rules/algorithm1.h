// The paper's Algorithm 1: an independent EKF that ignores small errors.
#pragma once

#include "kalstream/rules/kalman.h"

namespace kalstream {

/// When Algorithm 1 learns: ‖e‖² > 4ζ̄² (the text), or ‖e‖² > 4ζ̄ (published addition experiments).
enum class Gate { squared_bound, bound };

/// IEKF that learns only from errors its gate lets through, with measurement noise
/// r_i = noise_floor + noise_factor·Tr(H_i P_i H_iᵀ)/n_d.
struct Algorithm1 {
  double initial_covariance = 30;
  Schedule process_noise = 1e-5;
  double error_bound = 0.01;  ///< ζ̄ > 0
  double noise_floor = 0.5;   ///< the paper's text has none; see docs/noise-floor.md
  double noise_factor = 3;
  Gate gate = Gate::squared_bound;
  bool process_noise_when_gated = false;  ///< published real-data experiments: P gains qI anyway
  Partition partition = Partition::unit;
  bool single_precision = false;  ///< of P, with Partition::full: half the memory and time
  void validate() const;
  static const RuleInfo<Algorithm1>& info();
};

}  // namespace kalstream
