// The parallel extended Kalman filter: weights and hidden state are estimated together.
#pragma once

#include "kalstream/rules/rule.h"

namespace kalstream {

/// One covariance P of ξ = [θ ; c ; y] (of an LSTM; others have no c). A sample moves the state on
/// by s⁻ = f(s, x, θ) and P by the derivatives F of that step alone; then its target corrects
/// weights and state:
///
///     P⁻ = F P Fᵀ + state_noise·I_s;   S = HP⁻Hᵀ + rI;   ξ = ξ⁻ + P⁻Hᵀ S⁻¹e;
///     P = P⁻ − P⁻Hᵀ S⁻¹HP⁻ + qI_θ
///
/// NetworkOptions::derivative and window have no effect: what the past has to do with the weights
/// is in P (docs/losses.md compares it with Ekf).
struct ParallelEkf {
  double initial_covariance = 100;  ///< p₁ of the weights; the state is known at first, to be 0
  Schedule measurement_noise = 3;
  Schedule process_noise = 1e-4;
  double state_noise = 1e-4;
  void validate() const;
  static const RuleInfo<ParallelEkf>& info();
};

}  // namespace kalstream
