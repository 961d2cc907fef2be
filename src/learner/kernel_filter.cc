#include "learner/kernel_filter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

using kernels::active;
using kernels::width;

constexpr double jitter = 1e-6;         // of a², on the diagonal of k(Z, Z)
constexpr double least_rest = 1e-5;     // of a²: a row that others explain to this is no centre
constexpr double process_noise = 1e-7;  // of weights of variance 1: more than what is rounded off P

// What choosing centres needs for a moment, shared by all models of a thread.
struct CentreScratch {
  std::vector<double> scaled;  // rows
  std::vector<double> factor;  // rows × centres: L⁻¹k(Z, x) of each
  std::vector<double> rest;    // k(x, x) − ‖L⁻¹k(Z, x)‖² of each; 0 for a centre
};

CentreScratch& centre_scratch(std::size_t inputs, std::size_t centres) {
  thread_local CentreScratch one;
  const auto grow = [](std::vector<double>& v, std::size_t size) {
    if (v.size() < size) v.resize(size);
  };
  grow(one.scaled, KernelFilter::most_candidates * inputs);
  grow(one.factor, KernelFilter::most_candidates * centres);
  grow(one.rest, KernelFilter::most_candidates);
  return one;
}

}  // namespace

KernelFilter::KernelFilter(const KernelShape& shape, std::size_t outputs, std::size_t most_centres)
    : inputs_(shape.inputs()),
      outputs_(outputs),
      shape_(shape),
      inverse_length_(inputs_),
      Z_(most_centres * inputs_),
      L_(most_centres * (most_centres + 1) / 2),
      P_({{{.offset = 0, .length = 1 + inputs_ + most_centres}}}, 1, 1, Precision::single),
      W_(outputs, AlignedVector(1 + inputs_ + most_centres)),
      W_new_(W_.front().size()),
      x_(inputs_),
      f_(W_new_.size()),
      d_hat_(outputs) {
  centre_scratch(inputs_, most_centres);
  begin(shape, 0, {});
}

double KernelFilter::kernel(const double* a, const double* b) const {
  double distance = 0;
  for (std::size_t i = 0; i < inputs_; ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
  return amplitude2_ * std::exp(-0.5 * distance);
}

void KernelFilter::scale(std::span<const double> x, double* to) const {
  for (std::size_t i = 0; i < inputs_; ++i) to[i] = x[i] * inverse_length_[i];
}

void KernelFilter::begin(const KernelShape& shape, std::size_t n, std::span<const double> rows) {
  set_shape(shape);
  const std::size_t most_centres = f_.size() - 1 - inputs_;
  CentreScratch& s = centre_scratch(inputs_, most_centres);
  for (std::size_t r = 0; r < n; ++r) {
    scale(rows.subspan(r * inputs_, inputs_), &s.scaled[r * inputs_]);
    s.rest[r] = amplitude2_ * (1 + jitter);
  }
  const auto rest = std::span(s.rest).first(n);
  while (centres_ < std::min(n, most_centres)) {
    const auto pivot = static_cast<std::size_t>(std::ranges::max_element(rest) - rest.begin());
    if (rest[pivot] < least_rest * amplitude2_) break;
    const std::size_t j = centres_++;
    std::copy_n(&s.scaled[pivot * inputs_], inputs_, &Z_[j * inputs_]);
    const double root = std::sqrt(rest[pivot]);
    const double* own = &s.factor[pivot * most_centres];
    rest[pivot] = 0;
    for (std::size_t r = 0; r < n; ++r) {
      if (rest[r] == 0) continue;
      double* factor = &s.factor[r * most_centres];
      factor[j] =
          (kernel(&s.scaled[r * inputs_], &Z_[j * inputs_]) - active().dot(j, factor, own)) / root;
      rest[r] = std::max(rest[r] - factor[j] * factor[j], 0.0);
    }
  }
  factorise();
  P_.reset(1);
  for (AlignedVector& W : W_) std::ranges::fill(W, 0.0);
}

void KernelFilter::set_shape(const KernelShape& shape) {
  shape_ = shape;
  amplitude2_ = shape.amplitude2();
  root_linear_ = std::sqrt(shape.linear());
  noise_ = shape.noise();
  for (std::size_t i = 0; i < inputs_; ++i) inverse_length_[i] = shape.inverse_length(i);
  centres_ = 0;
  std::ranges::fill(f_, 0.0);
  multiplied_ = false;
}

void KernelFilter::factorise() {
  for (std::size_t j = 0; j < centres_; ++j) {
    const std::span<double> L = row_of_L(j);
    double rest = amplitude2_ * (1 + jitter);
    for (std::size_t c = 0; c < j; ++c) {
      const auto other = row_of_L(c);
      L[c] =
          (kernel(&Z_[j * inputs_], &Z_[c * inputs_]) - active().dot(c, L.data(), other.data())) *
          other[c];
      rest -= L[c] * L[c];
    }
    L[j] = 1 / std::sqrt(std::max(rest, jitter * amplitude2_));
  }
}

std::span<const double> KernelFilter::predict(std::span<const double> x) {
  multiplied_ = false;
  scale(x, x_.data());
  f_[0] = 1;
  for (std::size_t i = 0; i < inputs_; ++i) f_[1 + i] = root_linear_ * x[i];
  double* phi = &f_[1 + inputs_];
  double left_out = amplitude2_;
  for (std::size_t j = 0; j < centres_; ++j) {
    const auto L = row_of_L(j);
    phi[j] = (kernel(x_.data(), &Z_[j * inputs_]) - active().dot(j, L.data(), phi)) * L[j];
    left_out -= phi[j] * phi[j];
  }
  noise_of_x_ = noise_ + std::max(left_out, 0.0);
  for (std::size_t o = 0; o < outputs_; ++o)
    d_hat_[o] = active().dot(f_.size(), f_.data(), W_[o].data());
  return d_hat_;
}

// Pf and fᵀPf, of f divided by the root of the noise: a sample of noise 1.
void KernelFilter::multiply() {
  if (multiplied_) return;
  const double root = std::sqrt(noise_of_x_);
  for (double& f : f_) f /= root;
  P_.multiply(f_);
  multiplied_ = true;
}

double KernelFilter::relative_variance() {
  multiply();
  const double S = P_.S(P_.groups()[0])[0];
  return noise_of_x_ / noise_ * (1 + (S > 0 ? std::min(S, 1e12) : 0));
}

StepStatus KernelFilter::learn(std::span<const double> d) {
  multiply();
  multiplied_ = false;
  const BlockGroup& g = P_.groups()[0];
  std::array<double, width> e{};
  std::array<double, width> u{};
  int faults = active().factor(1, e.data(), 1, 0, -1, P_.S(g).data(), u.data());
  double trace = 0;
  if (faults == 0) faults = P_.propose(g, P_.S(g), process_noise, trace);
  if (faults != 0) return StepStatus::rejected_covariance;
  const double inverse_root = P_.S(g)[0];  // 1/√(fᵀPf + 1)
  const double root = std::sqrt(noise_of_x_);
  for (std::size_t o = 0; o < outputs_; ++o) {
    u.fill((d[o] - d_hat_[o]) / root * inverse_root);
    if (P_.move(g, u, W_[o], W_new_)) std::swap(W_[o], W_new_);
  }
  P_.accept(trace);
  return StepStatus::applied;
}

void KernelFilter::exchange(Archive& archive) {
  KernelShape shape = shape_;
  archive.numbers(shape.log, [](double v) { return std::abs(v) <= KernelShape::most; });
  std::size_t centres = centres_;
  archive.count(centres, Z_.size() / std::max<std::size_t>(inputs_, 1));
  if (archive.reading()) set_shape(shape);
  centres_ = centres;
  archive.run(std::span(Z_).first(centres_ * inputs_), Archive::usable);
  if (archive.reading()) factorise();
  P_.exchange(archive);
  for (AlignedVector& W : W_) archive.numbers(W, Archive::usable);
}

}  // namespace kalstream
