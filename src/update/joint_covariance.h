// The covariance of weights and hidden state together, for the parallel EKF.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "kalstream/report.h"

namespace kalstream {

class Archive;

/// P of ξ = [θ ; s], whole and dense: n weights, then m numbers of state. A sample first moves the
/// state on (predict), then corrects all of ξ (measure, correct). Both are proposed, and take their
/// place only when they are known to be sound.
class JointCovariance {
 public:
  JointCovariance(std::size_t weights, std::size_t states, std::size_t n_d);

  /// p₁I for the weights; the state is known.
  void reset(double p1);
  void exchange(Archive& archive);

  std::size_t size() const { return N_; }
  double trace() const { return trace_; }
  double operator()(std::size_t i, std::size_t j) const { return P_[i * N_ + j]; }

  /// Proposes P⁻ = FPFᵀ + noise·I_s. F: the rows of the state, m × (n + m); the weights stay as
  /// they are.
  void predict(std::span<const double> F, double noise);
  /// P⁻Hᵀ and HP⁻Hᵀ of H, n_d × (n + m), for the P⁻ proposed.
  void measure(std::span<const double> H);
  double variance(std::size_t k) const { return S_[k * n_d_ + k]; }  ///< HP⁻Hᵀ

  /// Proposes ξ⁺ = ξ + P⁻HᵀS⁻¹e with S = HP⁻Hᵀ + rI, which takes the place of HP⁻Hᵀ. Applied, or
  /// why it must not be.
  StepStatus correct(std::span<const double> e, double r, std::span<const double> xi,
                     std::span<double> xi_new);

  /// P⁻ takes its place; after correct() also P⁻ − P⁻HᵀS⁻¹HP⁻ + qI_θ; settle() ends either.
  void accept_prediction();
  void accept_correction(double q);
  void settle();

  /// After a correction that P did not allow, and for a long life: see Longevity. The last gives ξ
  /// as it is with weight k measured to be 0 with noise v.
  void mend();
  void halve_from(double limit);
  void return_to_prior(std::size_t k, double v, std::span<double> xi);

 private:
  double* row(std::size_t i) { return P_.data() + i * N_; }
  bool factor(std::span<const double> e, double r);
  void sum_trace();

  std::size_t n_;  // weights
  std::size_t m_;  // numbers of state
  std::size_t N_;
  std::size_t n_d_;
  AlignedVector P_;          // N × N, both halves
  AlignedVector proposed_;   // the rows of the state in P⁻, m × N
  AlignedVector W_;          // P⁻Hᵀ, then P⁻HᵀL⁻ᵀ: n_d × N
  std::vector<double> P_s_;  // m × m
  std::vector<double> S_;    // n_d × n_d: HP⁻Hᵀ, then L
  std::vector<double> u_;    // L⁻¹e
  double trace_ = 0;         // of the weights
};

}  // namespace kalstream
