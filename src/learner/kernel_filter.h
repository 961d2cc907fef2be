// Recursive least squares on the features of a kernel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/cloned.h"
#include "learner/kernel_likelihood.h"
#include "update/covariance.h"

namespace kalstream {

/// The most samples that choose_centres() looks at.
inline constexpr std::size_t most_candidates = 384;

/// Chooses at most so many of some samples (n × inputs): each is the one that those before explain
/// least (pivoted Cholesky), as long as they leave something of it. It chooses a few at a time,
/// with the same result whatever the portions.
class CentreChoice {
 public:
  CentreChoice(const KernelShape& shape, std::size_t n, std::span<const double> samples,
               std::size_t most);

  std::unique_ptr<CentreChoice> clone() const { return std::make_unique<CentreChoice>(*this); }
  /// Chooses so many more. False once there is no more to choose.
  bool choose(std::size_t count);
  const KernelShape& shape() const { return shape_; }
  /// Those chosen so far, scaled by the lengths: centres × inputs.
  const std::vector<double>& centres() const { return centres_; }
  std::size_t size() const { return chosen_; }

 private:
  KernelShape shape_;
  std::size_t n_, most_;
  std::size_t chosen_ = 0;
  std::vector<double> scaled_;      // inputs × n
  std::vector<double> factor_;      // L⁻¹k(Z, x) of each sample
  std::vector<double> rest_;        // k(x, x) − ‖L⁻¹k(Z, x)‖²; 0 for a centre
  std::vector<double> covariance_;  // of each sample and the newest centre
  std::vector<double> centres_;
};

/// d̂ = Wf(x) on the Nyström features of a kernel with centres Z:
///
///     f(x) = [1 ; √v x ; L⁻¹k(Z, x)],   LLᵀ = k(Z, Z)
///
/// with covariance P = I of each row of W at first, and noise σ² + k(x, x) − ‖L⁻¹k(Z, x)‖²: what
/// the features leave out of the kernel counts as noise (the model known as FITC).
class KernelFilter {
 public:
  /// For these centres, as choose_centres() gives them. Without any it is a linear model.
  KernelFilter(const KernelShape& shape, std::size_t outputs, std::vector<double> centres);

  std::unique_ptr<KernelFilter> clone() const { return std::make_unique<KernelFilter>(*this); }
  std::size_t centres() const { return centres_; }

  /// d̂ of x.
  std::span<const double> predict(std::span<const double> x);
  /// The variance of the last prediction, in units of σ²: at least 1.
  double relative_variance();
  /// Learns the target of the x of the last predict(). Applied, or nothing has changed.
  StepStatus learn(std::span<const double> d);
  double covariance_trace() const { return P_.trace(); }
  /// A filter of so many centres at most, to a snapshot or from one.
  static void exchange(Archive& archive, Cloned<KernelFilter>& filter, std::size_t inputs,
                       std::size_t outputs, std::size_t most_centres);

 private:
  void factorise();  // k(Z, Z)
  std::span<double> row_of_L(std::size_t j) {
    return std::span(L_).subspan(j * (j + 1) / 2, j + 1);
  }
  void multiply();

  KernelShape shape_;
  std::size_t inputs_, centres_;
  double amplitude2_, root_linear_, noise_;
  std::vector<double> inverse_length_;
  std::vector<double> Z_;          // centres × inputs, scaled
  std::vector<double> Z_columns_;  // the same, inputs × centres
  std::vector<double> L_;          // lower triangle, row after row, with 1/L_jj on the diagonal
  Covariance P_;
  std::vector<AlignedVector> W_;  // of each output
  AlignedVector W_new_;
  // Of the last prediction:
  std::vector<double> x_;
  AlignedVector f_;  // then divided by the root of the noise
  double noise_of_x_ = 0;
  bool multiplied_ = false;  // Pf is there
  std::vector<double> d_hat_;
};

}  // namespace kalstream
