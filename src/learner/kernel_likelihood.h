// The shape of a kernel, and how it follows the marginal likelihood.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// The covariance of two targets of noise variance σ², as a function of their inputs:
///
///     k(x, x') = a² exp(−½ Σ (x_i − x'_i)²/ℓ_i²) + v xᵀx' + 1 (+ σ² if they are the same)
///
/// kept as logarithms.
struct KernelShape {
  static constexpr double most = 10;  ///< of a logarithm, either way

  explicit KernelShape(std::size_t inputs) : log(inputs + 3) {}

  std::size_t inputs() const { return log.size() - 3; }
  double inverse_length(std::size_t i) const { return std::exp(-log[i]); }  ///< 1/ℓ_i
  double amplitude2() const { return std::exp(log[inputs()]); }             ///< a²
  double linear() const { return std::exp(log[inputs() + 1]); }             ///< v
  double noise() const { return std::exp(log[inputs() + 2]); }              ///< σ²

  std::vector<double> log;  ///< ℓ_1 … ℓ_n, a², v, σ²
};

/// a² exp(−½ Σ (x_i − z_i)²) for n vectors z; all are scaled by the lengths. z: the first numbers
/// of all vectors, then the second, at a distance of `stride`.
void kernel_row(double amplitude2, std::span<const double> x, std::size_t n, const double* z,
                std::size_t stride, double* k);

/// Climbs the marginal likelihood of small random batches of samples by the steps of Adam: the
/// gradients of batches lead to the shape that the whole has (Chen et al. 2020, "Stochastic
/// gradient descent in correlated settings"). Every step is whole: nothing waits between two.
class KernelLikelihood {
 public:
  KernelLikelihood(std::size_t inputs, std::size_t outputs);

  const KernelShape& shape() const { return shape_; }
  /// One step, for n samples: x of n × inputs, standardised targets d of n × outputs.
  void climb(std::size_t n, std::span<const double> x, std::span<const double> d);
  void reset();
  void exchange(Archive& archive);

  /// For tests: the gradient of the logarithm of the likelihood by the logarithms of the shape.
  std::span<const double> gradient(const KernelShape& shape, std::size_t n,
                                   std::span<const double> x, std::span<const double> d);

 private:
  bool find_gradient(std::size_t n, std::span<const double> x, std::span<const double> d);

  std::size_t outputs_;
  KernelShape shape_;
  KernelShape prior_;  // means
  std::uint64_t steps_ = 0;
  std::vector<double> m_, v_;  // Adam's moments
  std::vector<double> gradient_;
};

}  // namespace kalstream
