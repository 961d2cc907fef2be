#include "learner/kernel_likelihood.h"

#include <algorithm>

#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

using kernels::active;

// Of Adam. A step changes the logarithm of a length by about the rate. On nine tables of up to 32
// inputs the error with half of it was a third larger: lengths came too late.
constexpr double rate = 0.1;
constexpr double first_decay = 0.9;
constexpr double second_decay = 0.99;
constexpr double epsilon = 1e-3;

// Deviations of the normal priors of the logarithms: weak, but an input that does not matter needs
// some length. With half and double of the first the mean error over four streams grew by 0 and
// 10 %.
constexpr double deviation_of_length = 2;
constexpr double deviation_of_rest = 3;
constexpr double most = KernelShape::most;

KernelShape usual_shape(std::size_t inputs) {
  KernelShape shape(inputs);
  const auto n = static_cast<double>(inputs);
  std::fill_n(shape.log.begin(), inputs, std::log(2 * std::sqrt(n)));
  shape.log[inputs] = 0;
  shape.log[inputs + 1] = std::log(0.3 / n);
  shape.log[inputs + 2] = std::log(0.1);
  return shape;
}

// What a gradient needs for a moment, shared by all models of a thread.
struct LikelihoodScratch {
  std::vector<double> scaled;   // x_i/ℓ_i: inputs × n
  std::vector<double> SE;       // a² exp(…), below the diagonal
  std::vector<double> L;        // the factor of K, then K⁻¹, then G
  std::vector<double> U;        // (L⁻¹)ᵀ
  std::vector<double> alpha;    // K⁻¹d, for each output
  std::vector<double> product;  // xᵀx', below the diagonal
  std::vector<double> row;      // what one row needs

  void hold(std::size_t n, std::size_t inputs, std::size_t outputs) {
    const auto grow = [](std::vector<double>& v, std::size_t size) {
      if (v.size() < size) v.resize(size);
    };
    grow(scaled, n * inputs);
    for (std::vector<double>* v : {&SE, &L, &U, &product}) grow(*v, n * n);
    grow(row, std::max(2 * n, inputs));
    grow(alpha, n * outputs);
  }
};

LikelihoodScratch& likelihood_scratch() {
  thread_local LikelihoodScratch one;
  return one;
}

}  // namespace

// e^{−r} = (1 − σ(r))/σ(r): the logistic function is one of the kernels.
void kernel_row(double amplitude2, std::span<const double> x, std::size_t n, const double* z,
                std::size_t stride, double* k) {
  std::fill_n(k, n, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double apart = x[i] - z[i * stride + j];
      k[j] += 0.5 * apart * apart;
    }
  active().logistic(n, k, k);
  for (std::size_t j = 0; j < n; ++j) k[j] = amplitude2 * (1 - k[j]) / k[j];
}

KernelLikelihood::KernelLikelihood(std::size_t inputs, std::size_t outputs)
    : outputs_(outputs),
      shape_(inputs),
      prior_(usual_shape(inputs)),
      m_(inputs + 3),
      v_(inputs + 3),
      gradient_(inputs + 3) {
  reset();
}

void KernelLikelihood::reset() {
  shape_ = prior_;
  std::ranges::fill(m_, 0.0);
  std::ranges::fill(v_, 0.0);
  steps_ = 0;
}

// Of log p(d) = −½ Σ dᵀK⁻¹d − ½ outputs·log |K|, with K = LLᵀ, α = K⁻¹d and
// G = Σ ααᵀ − outputs·K⁻¹:
//
//   ∂/∂θ = ½ Σ_rc G_rc ∂K_rc/∂θ
//
// for each output. False if K has no factor.
bool KernelLikelihood::find_gradient(std::size_t n, std::span<const double> x,
                                     std::span<const double> d) {
  const std::size_t p = shape_.inputs();
  const double a2 = shape_.amplitude2();
  const double linear = shape_.linear();
  const double noise = shape_.noise();
  LikelihoodScratch& s = likelihood_scratch();
  s.hold(n, p, outputs_);
  for (std::size_t i = 0; i < p; ++i) {
    const double scale = shape_.inverse_length(i);
    for (std::size_t r = 0; r < n; ++r) s.scaled[i * n + r] = x[r * p + i] * scale;
  }
  const kernels::Kernels& k = active();
  for (std::size_t r = 0; r < n; ++r) {
    double* L = &s.L[r * n];
    double* SE = &s.SE[r * n];
    double* product = &s.product[r * n];
    for (std::size_t i = 0; i < p; ++i) s.row[i] = s.scaled[i * n + r];
    kernel_row(a2, std::span(s.row).first(p), r + 1, s.scaled.data(), n, SE);
    std::fill_n(product, r + 1, 0.0);
    for (std::size_t i = 0; i < p; ++i)
      k.axpy(r + 1, s.row[i] / (shape_.inverse_length(i) * shape_.inverse_length(i)),
             &s.scaled[i * n], product);
    for (std::size_t c = 0; c <= r; ++c) {
      L[c] = SE[c] + linear * product[c] + 1 + (r == c ? noise : 0);
      L[c] -= k.dot(c, L, &s.L[c * n]);
      if (c < r) L[c] /= s.L[c * n + c];
    }
    if (!(L[r] > 0)) return false;
    L[r] = std::sqrt(L[r]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    double* U = &s.U[i * n];
    U[i] = 1 / s.L[i * n + i];
    for (std::size_t r = i + 1; r < n; ++r)
      U[r] = -k.dot(r - i, &s.L[r * n + i], U + i) / s.L[r * n + r];
  }
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c <= r; ++c)
      s.L[r * n + c] = s.L[c * n + r] = k.dot(n - r, &s.U[r * n + r], &s.U[c * n + r]);
  for (std::size_t o = 0; o < outputs_; ++o)
    for (std::size_t r = 0; r < n; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < n; ++c) sum += s.L[r * n + c] * d[c * outputs_ + o];
      s.alpha[o * n + r] = sum;
    }
  for (std::size_t i = 0; i < n * n; ++i) s.L[i] *= -static_cast<double>(outputs_);
  for (std::size_t o = 0; o < outputs_; ++o)
    for (std::size_t r = 0; r < n; ++r)
      k.axpy(r + 1, s.alpha[o * n + r], &s.alpha[o * n], &s.L[r * n]);

  std::ranges::fill(gradient_, 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    const double* G = &s.L[r * n];
    const double* SE = &s.SE[r * n];
    double* of_SE = s.row.data();
    double* squares = &s.row[n];
    for (std::size_t c = 0; c < r; ++c) of_SE[c] = 2 * G[c] * SE[c];
    for (std::size_t i = 0; i < p; ++i) {
      const double* at = &s.scaled[i * n];
      for (std::size_t c = 0; c < r; ++c) squares[c] = (at[r] - at[c]) * (at[r] - at[c]);
      gradient_[i] += k.dot(r, of_SE, squares);
    }
    const double* product = &s.product[r * n];
    gradient_[p] += k.sum(r, of_SE) + G[r] * SE[r];
    gradient_[p + 1] += (2 * k.dot(r, G, product) + G[r] * product[r]) * linear;
    gradient_[p + 2] += G[r] * noise;
  }
  for (double& g : gradient_) g *= 0.5 / static_cast<double>(outputs_);
  return std::isfinite(k.sum(gradient_.size(), gradient_.data()));
}

std::span<const double> KernelLikelihood::gradient(const KernelShape& shape, std::size_t n,
                                                   std::span<const double> x,
                                                   std::span<const double> d) {
  shape_ = shape;
  find_gradient(n, x, d);
  return gradient_;
}

void KernelLikelihood::climb(std::size_t n, std::span<const double> x, std::span<const double> d) {
  if (!find_gradient(n, x, d)) return;
  constexpr std::uint64_t settled = 10'000;  // steps: 1 − 0.99ᵗ is 1 by then
  steps_ = std::min(steps_ + 1, settled);
  const auto t = static_cast<double>(steps_);
  const double first_scale = 1 - std::pow(first_decay, t);
  const double second_scale = 1 - std::pow(second_decay, t);
  for (std::size_t i = 0; i < gradient_.size(); ++i) {
    const double deviation = i < shape_.inputs() ? deviation_of_length : deviation_of_rest;
    const double g = gradient_[i] - (shape_.log[i] - prior_.log[i]) / (deviation * deviation);
    m_[i] = first_decay * m_[i] + (1 - first_decay) * g;
    v_[i] = second_decay * v_[i] + (1 - second_decay) * g * g;
    const double step = m_[i] / first_scale / (std::sqrt(v_[i] / second_scale) + epsilon);
    shape_.log[i] = std::clamp(shape_.log[i] + rate * step, -most, most);
  }
}

void KernelLikelihood::exchange(Archive& archive) {
  archive.count(steps_);
  archive.numbers(shape_.log, [](double v) { return std::abs(v) <= most; });
  archive.numbers(m_);
  archive.numbers(v_, Archive::not_negative);
}

}  // namespace kalstream
