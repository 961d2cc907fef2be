// Recursive least squares on the features of a kernel.
#pragma once

#include <span>
#include <vector>

#include "learner/kernel_likelihood.h"
#include "update/covariance.h"

namespace kalstream {

/// d̂ = Wf(x) on the Nyström features of a kernel with centres Z:
///
///     f(x) = [1 ; √v x ; L⁻¹k(Z, x)],   LLᵀ = k(Z, Z)
///
/// with covariance P = I of each row of W at first, and noise σ² + k(x, x) − ‖L⁻¹k(Z, x)‖²: what
/// the features leave out of the kernel counts as noise (the model known as FITC).
class KernelFilter {
 public:
  /// Without centres it is a linear model.
  KernelFilter(const KernelShape& shape, std::size_t outputs, std::size_t most_centres);

  /// How many rows begin() chooses centres from, at most.
  static constexpr std::size_t most_candidates = 384;

  /// Begins anew with this shape, and centres out of these rows (n × inputs): each is the one that
  /// those before explain least (pivoted Cholesky).
  void begin(const KernelShape& shape, std::size_t n, std::span<const double> rows);
  std::size_t centres() const { return centres_; }

  /// d̂ of x.
  std::span<const double> predict(std::span<const double> x);
  /// The variance of the last prediction, in units of σ²: at least 1.
  double relative_variance();
  /// Learns the target of the x of the last predict(). Applied, or nothing has changed.
  StepStatus learn(std::span<const double> d);
  double covariance_trace() const { return P_.trace(); }
  void exchange(Archive& archive);

 private:
  double kernel(const double* a, const double* b) const;  // of scaled inputs
  void set_shape(const KernelShape& shape);               // leaves no centre
  void factorise();                                       // k(Z, Z)
  std::span<double> row_of_L(std::size_t j) {
    return std::span(L_).subspan(j * (j + 1) / 2, j + 1);
  }
  void scale(std::span<const double> x, double* to) const;
  void multiply();

  std::size_t inputs_, outputs_;
  std::size_t centres_ = 0;
  KernelShape shape_;
  double amplitude2_ = 0, root_linear_ = 0, noise_ = 0;
  std::vector<double> inverse_length_;
  std::vector<double> Z_;  // centres × inputs, scaled
  std::vector<double> L_;  // lower triangle, row after row, with 1/L_jj on the diagonal
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
