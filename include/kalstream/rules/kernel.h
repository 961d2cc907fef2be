// A sparse Gaussian process that is a Kalman filter.
#pragma once

#include <cstddef>

#include "kalstream/rules/rule.h"

namespace kalstream {

/// Recursive least squares on the inputs and the Nyström features of a squared exponential kernel,
/// which has a length for every input (docs/kernels.md):
///
///     k(x, x') = a² exp(−½ Σ (x_i − x'_i)²/ℓ_i²);   φ(x) = L⁻¹k(Z, x),  LLᵀ = k(Z, Z)
///
/// The kernel follows its marginal likelihood. At 16, 24, 36, … samples, and in the end every
/// `renewal`, the rows of Z are chosen anew among the samples in memory, and these are learnt
/// again, a few with each sample that comes; meanwhile the filter of before predicts and learns.
struct Kernel {
  std::size_t centres = 256;    ///< rows of Z, at most
  std::size_t memory = 2000;    ///< samples
  std::size_t renewal = 2000;   ///< samples
  std::size_t past_inputs = 0;  ///< the inputs of so many samples before are inputs as well
  void validate() const;
  static const RuleInfo<Kernel>& info();
};

}  // namespace kalstream
