// The paper's Algorithm 2: a mixture of Algorithm 1 over error bounds.
#pragma once

#include <optional>
#include <vector>

#include "kalstream/rules/algorithm1.h"

namespace kalstream {

/// Whose error the experts of Algorithm 2 update with (each one's gate always judges its own).
enum class Feedback { own, mixture };

/// A mixture of Algorithm 1 instances that differ in ζ̄:
/// d̂ = Σ w_j d̂_j / Σ w_j;  w_j ← w_j·exp(−mixing_rate·‖d − d̂_j‖²), or of another loss.
struct Algorithm2 {
  Algorithm1 expert;                  ///< what all instances share; its error_bound is ignored
  std::vector<double> error_bounds;   ///< ζ̄_j; empty: √n_d, √n_d/2, …, 0.01
  std::vector<double> prior_weights;  ///< w_j at the start; empty: uniform
  /// Unset: 1/(8 n_d), for which Σ‖e‖² ≤ min_j Σ‖e_j‖² + 8 n_d ln N is proven (Appendix B); for
  /// other losses docs/losses.md.
  std::optional<double> mixing_rate = 1;
  Feedback feedback = Feedback::own;
  /// Threads that share the experts; pays from some 30 units on. Results are the same for any
  /// number.
  std::size_t threads = 1;

  /// error_bounds, or what stands for them when they are empty.
  std::vector<double> bounds(std::size_t outputs) const;
  void validate() const;
  static const RuleInfo<Algorithm2>& info();
};

/// √n_d, √n_d/2, √n_d/4, …, smallest (Algorithm 2, line 2).
std::vector<double> halving_error_bounds(std::size_t outputs, double smallest = 0.01);

}  // namespace kalstream
