#include "learner/kernel_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

using kernels::active;
using kernels::width;

constexpr double jitter = 1e-6;         // of a², on the diagonal of k(Z, Z)
constexpr double least_rest = 1e-5;     // of a²: a row that others explain to this is no centre
constexpr double process_noise = 1e-7;  // of weights of variance 1: more than what is rounded off P

std::vector<double> inverse_lengths(const KernelShape& shape) {
  std::vector<double> all(shape.inputs());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = shape.inverse_length(i);
  return all;
}

}  // namespace

CentreChoice::CentreChoice(const KernelShape& shape, std::size_t n, std::span<const double> samples,
                           std::size_t most)
    : shape_(shape),
      n_(n),
      most_(std::min(n, most)),
      scaled_(n * shape.inputs()),
      factor_(n * most_),
      rest_(n, shape.amplitude2() * (1 + jitter)),
      covariance_(n) {
  const std::size_t inputs = shape.inputs();
  const std::vector<double> scale = inverse_lengths(shape);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < inputs; ++i)
      scaled_[i * n + r] = samples[r * inputs + i] * scale[i];
  centres_.reserve(most_ * inputs);
}

bool CentreChoice::choose(std::size_t count) {
  const std::size_t inputs = shape_.inputs();
  const double a2 = shape_.amplitude2();
  for (; count > 0 && chosen_ < most_; --count, ++chosen_) {
    const auto pivot = static_cast<std::size_t>(std::ranges::max_element(rest_) - rest_.begin());
    if (rest_[pivot] < least_rest * a2) return false;
    for (std::size_t i = 0; i < inputs; ++i) centres_.push_back(scaled_[i * n_ + pivot]);
    const auto centre = std::span<const double>(centres_).last(inputs);
    const double root = std::sqrt(rest_[pivot]);
    rest_[pivot] = 0;
    kernel_row(a2, centre, n_, scaled_.data(), n_, covariance_.data());
    const double* of_pivot = &factor_[pivot * most_];
    for (std::size_t r = 0; r < n_; ++r) {
      if (rest_[r] == 0) continue;
      double* row = &factor_[r * most_];
      row[chosen_] = (covariance_[r] - active().dot(chosen_, row, of_pivot)) / root;
      rest_[r] = std::max(rest_[r] - row[chosen_] * row[chosen_], 0.0);
    }
  }
  return chosen_ < most_;
}

KernelFilter::KernelFilter(const KernelShape& shape, std::size_t outputs,
                           std::vector<double> centres)
    : shape_(shape),
      inputs_(shape.inputs()),
      centres_(centres.size() / inputs_),
      amplitude2_(shape.amplitude2()),
      root_linear_(std::sqrt(shape.linear())),
      noise_(shape.noise()),
      inverse_length_(inverse_lengths(shape)),
      Z_(std::move(centres)),
      Z_columns_(Z_.size()),
      L_(centres_ * (centres_ + 1) / 2),
      P_({{{.offset = 0, .length = 1 + inputs_ + centres_}}}, 1, 1, Precision::single),
      W_(outputs, AlignedVector(1 + inputs_ + centres_)),
      W_new_(W_.front().size()),
      x_(inputs_),
      f_(W_new_.size()),
      d_hat_(outputs) {
  for (std::size_t k = 0; k < Z_.size(); ++k)
    Z_columns_[k % inputs_ * centres_ + k / inputs_] = Z_[k];
  factorise();
  P_.reset(1);
}

void KernelFilter::factorise() {
  for (std::size_t j = 0; j < centres_; ++j) {
    const std::span<double> L = row_of_L(j);
    double rest = amplitude2_ * (1 + jitter);
    kernel_row(amplitude2_, std::span(Z_).subspan(j * inputs_, inputs_), j, Z_columns_.data(),
               centres_, L.data());
    for (std::size_t c = 0; c < j; ++c) {
      const auto other = row_of_L(c);
      L[c] = (L[c] - active().dot(c, L.data(), other.data())) * other[c];
      rest -= L[c] * L[c];
    }
    L[j] = 1 / std::sqrt(std::max(rest, jitter * amplitude2_));
  }
}

std::span<const double> KernelFilter::predict(std::span<const double> x) {
  multiplied_ = false;
  for (std::size_t i = 0; i < inputs_; ++i) x_[i] = x[i] * inverse_length_[i];
  f_[0] = 1;
  for (std::size_t i = 0; i < inputs_; ++i) f_[1 + i] = root_linear_ * x[i];
  double* phi = &f_[1 + inputs_];
  double left_out = amplitude2_;
  kernel_row(amplitude2_, x_, centres_, Z_columns_.data(), centres_, phi);
  for (std::size_t j = 0; j < centres_; ++j) {
    const auto L = row_of_L(j);
    phi[j] = (phi[j] - active().dot(j, L.data(), phi)) * L[j];
    left_out -= phi[j] * phi[j];
  }
  noise_of_x_ = noise_ + std::max(left_out, 0.0);
  for (std::size_t o = 0; o < W_.size(); ++o)
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
  for (std::size_t o = 0; o < W_.size(); ++o) {
    u.fill((d[o] - d_hat_[o]) / root * inverse_root);
    if (P_.move(g, u, W_[o], W_new_)) std::swap(W_[o], W_new_);
  }
  P_.accept(trace);
  return StepStatus::applied;
}

void KernelFilter::exchange(Archive& archive, Cloned<KernelFilter>& filter, std::size_t inputs,
                            std::size_t outputs, std::size_t most_centres) {
  KernelShape shape = filter ? filter->shape_ : KernelShape(inputs);
  std::vector<double> centres = filter ? filter->Z_ : std::vector<double>();
  archive.numbers(shape.log, [](double v) { return std::abs(v) <= KernelShape::most; });
  std::size_t n = centres.size() / inputs;
  archive.count(n, most_centres);
  if (archive.reading()) {
    archive.require(n * inputs * sizeof(double) <= archive.left());
    centres.resize(n * inputs);
  }
  archive.run(centres, Archive::usable);
  if (archive.reading())
    filter = std::make_unique<KernelFilter>(shape, outputs, std::move(centres));
  filter->P_.exchange(archive);
  for (AlignedVector& W : filter->W_) archive.numbers(W, Archive::usable);
}

}  // namespace kalstream
