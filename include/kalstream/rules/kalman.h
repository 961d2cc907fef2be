// The Kalman filters: one covariance for all weights, or one for each block of them.
#pragma once

#include <cstddef>

#include "kalstream/rules/rule.h"

namespace kalstream {

/// How θ is cut into covariance blocks: one per row of the weight matrices (the paper), per LSTM
/// unit with its four gates, per gate matrix, or a single one.
enum class Partition { node, unit, gate, full };

/// Eqs 10–13. S = HPHᵀ + rI;  θ ← θ + PHᵀS⁻¹e;  P ← P − PHᵀS⁻¹HP + qI;  P₁ = p₁I. In a long life
/// (docs/robustness.md), here and in the rules below, a block of P with a variance of max(2p₁,
/// 10,000q) is halved, and after 131,072 updates weights that no sample excites return towards 0.
struct Ekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 3;
  Schedule process_noise = 1e-4;
  /// Threads that share a step of a network of more than 4,000 weights; 16 at most have something
  /// to do. Results are the same for any number.
  std::size_t threads = 1;
  bool single_precision = false;  ///< of P, up to 4,000 weights: half the memory and time
  void validate() const;
  static const RuleInfo<Ekf>& info();
};

/// One P_i per block, one innovation for all: S = Σ_i H_i P_i H_iᵀ + rI.
struct Dekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 1;
  Schedule process_noise = 1e-5;
  Partition partition = Partition::gate;
  bool output_apart = false;  ///< published real-data experiments: W^d has an innovation of its own
  void validate() const;
  static const RuleInfo<Dekf>& info();
};

/// Eqs 14–17. One P_i and one innovation S_i = H_i P_i H_iᵀ + rI per block.
struct Iekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 3;
  Schedule process_noise = 1e-4;
  Partition partition = Partition::gate;
  void validate() const;
  static const RuleInfo<Iekf>& info();
};

}  // namespace kalstream
