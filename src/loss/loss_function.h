// A loss at work, between the network and the rule.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kalstream/loss.h"

namespace kalstream {

/// The network gives z (times link_scale) with the Jacobian H = ∂z/∂θ; the loss ℓ tells μ =
/// link(z), and what a rule shall see of a sample: an error e' and a Jacobian H' for which
///
///     H'ᵀe' = −∂ℓ/∂θ                       so that a gradient step is one of ℓ, and
///     H'ᵀH' = Hᵀ V H,  V ≈ ∂²ℓ/∂z²         so that noise has the size 1 for a Kalman filter.
///
/// Of an exponential family (cross-entropy, Poisson) V is Var(d) at the mean μ: with VVᵀ-root L,
/// V = LLᵀ, e' = L⁻¹(d − μ) and H' = LᵀH = L⁻¹(∂μ/∂z)H, the error in units of its own deviation.
/// Where the sample contradicts μ so much that this would carry z beyond the sample's own optimum,
/// V is the chord to there (see loss_function.cc). Of huber and quantile V = ℓ'(e)/e, their
/// iteratively reweighted form. The squared loss is no matter of this class: e' = e, H' = H.
class LossFunction {
 public:
  LossFunction(const Loss& loss, std::size_t n_d);

  bool is_squared() const { return loss_.kind == Loss::Kind::squared; }
  const Loss& options() const { return loss_; }

  /// Whether finite numbers can be targets.
  bool accepts(std::span<const double> d) const;

  /// z becomes μ. Probabilities and means keep a distance of 1e-12 from what would be certain.
  void link(std::span<double> z) const;

  /// What μ costs: ‖d − μ‖², −ln p(d) but for what μ has no part in, or the name's.
  double of(std::span<const double> d, std::span<const double> mu) const;

  /// η for weights exp(−η Σℓ) of experts (docs/losses.md): 1/(8 n_d) for the squared loss, 1 for
  /// those that are the logarithm of a probability.
  double mixing_rate() const;

  /// e' and H' of a sample; e is d − μ, or an error that somebody else made. H: n_d × n_θ.
  void whiten(std::span<const double> mu, std::span<const double> e, std::span<const double> H,
              std::span<double> e_white, std::span<double> H_white);

  /// H' where d is as expected, d = μ; and the way back from variances of e' to those of d.
  void whiten(std::span<const double> mu, std::span<const double> H, std::span<double> H_white);
  void to_variance_of_target(std::span<double> v);

 private:
  double root(double mu, double e) const;
  void scale_rows(std::span<const double> H, std::span<double> H_white) const;
  bool is_softmax() const;

  // Several classes: of the root L, stick by stick (see loss_function.cc).
  void set_sticks(std::span<const double> mu);
  void error_in_sticks(std::span<const double> e, std::span<double> e_white) const;
  void jacobian_in_sticks(std::span<const double> H, std::span<double> H_white) const;
  void take_chord(std::span<double> e_white, std::span<double> H_white) const;

  Loss loss_;
  std::size_t n_d_;
  std::vector<double> roots_;   // L, where it is diagonal: e' = e/L
  std::vector<double> slopes_;  // √(μ_k/(s_k s_{k+1})) of the sticks
  std::vector<double> tails_;   // Σ μ from each class on, and 0
  std::vector<double> mu_;      // of the sticks
};

}  // namespace kalstream
