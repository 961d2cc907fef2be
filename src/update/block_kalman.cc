#include "update/block_kalman.h"

#include <algorithm>
#include <utility>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

using kernels::active;
using kernels::width;

namespace {

// Mean variance of a prediction, in targets of size one, below which a block cannot explain it.
constexpr double least_information = 1e-12;

StepStatus status_of(int faults) {
  return faults & kernels::not_finite ? StepStatus::rejected_non_finite
                                      : StepStatus::rejected_covariance;
}

}  // namespace

BlockKalman::BlockKalman(const BlockKalmanOptions& options, const ParameterLayout& layout)
    : options_(options),
      n_d_(layout.n_d),
      P_(layout.blocks(options.partition), n_d_, options.threads, options.precision),
      u_(n_d_ * width),
      theta_new_(layout.size()),
      longevity_(options.initial_covariance, options.process_noise, n_d_) {
  for (const Block& weights : P_.groups().blocks()) {
    const bool is_output = weights.front().offset >= layout.gate_weights();
    shares_S_.push_back(options.shared_innovation && !(is_output && options.output_apart));
  }
  reset();
}

void BlockKalman::reset() {
  t_ = 0;
  P_.reset(options_.initial_covariance);
}

void BlockKalman::exchange(Archive& archive) {
  archive.count(t_);
  P_.exchange(archive);
}

// Algorithm 1's gate.
bool BlockKalman::wants_jacobian(std::span<const double> e) const {
  return active().dot(e.size(), e.data(), e.data()) > options_.gate_threshold;
}

void BlockKalman::skip() {
  const double q = options_.process_noise.at(t_++);
  if (options_.process_noise_when_gated) P_.add(q);
  longevity_.after_skip(t_, P_);
}

// Without a floor the least information stands for it: no prediction is certain.
void BlockKalman::variance(std::span<const double> H, std::span<double> v) {
  P_.multiply(H);
  const double floor = std::max(options_.noise_floor.at(t_), least_information);
  for (std::size_t k = 0; k < n_d_; ++k) {
    double total = 0;
    for (const BlockGroup& g : P_.groups())
      for (std::size_t l = 0; l < g.blocks; ++l) total += P_.S(g)[(k * n_d_ + k) * width + l];
    const double most = largest_magnitude * largest_magnitude;
    v[k] = floor + (total < most ? std::max(total, 0.0) : most);
  }
}

StepStatus BlockKalman::update(std::span<const double> e, std::span<const double> H,
                               AlignedVector& theta) {
  if (!H.empty()) P_.multiply(H);
  const StepStatus status = correct(e, theta);
  longevity_.after_update(status, ++t_, P_, theta, theta_new_);
  return status;
}

// With LLᵀ = S and W = PHᵀL⁻ᵀ: G e = W(L⁻¹e), and GHP = WWᵀ, which is exactly symmetric, and Tr P
// can only fall. Everything is computed and judged before anything is changed: an update happens
// whole or not at all.
StepStatus BlockKalman::correct(std::span<const double> e, AlignedVector& theta) {
  const double q = options_.process_noise.at(t_);
  const double floor = options_.noise_floor.at(t_);
  if (options_.shared_innovation) share_innovation();
  double trace = 0;
  for (const BlockGroup& g : P_.groups()) {
    int faults = factor(g, e, floor);                            // L, L⁻¹e
    if (faults == 0) faults = P_.propose(g, P_.S(g), q, trace);  // W, P − WWᵀ + qI
    if (faults != 0) return status_of(faults);
    if (!P_.move(g, u_, theta, theta_new_)) return StepStatus::rejected_non_finite;  // θ + W(L⁻¹e)
  }
  std::swap(theta, theta_new_);
  P_.accept(trace);
  return StepStatus::applied;
}

// Σ_i H_iP_iH_iᵀ takes the place of H_iP_iH_iᵀ in every block that shares it.
void BlockKalman::share_innovation() {
  for (std::size_t k = 0; k < n_d_ * n_d_; ++k) {
    double total = 0;
    for (const BlockGroup& g : P_.groups())
      for (std::size_t l = 0; l < g.blocks; ++l) total += P_.S(g)[k * width + l];
    for (const BlockGroup& g : P_.groups())
      for (std::size_t l = 0; l < width; ++l) {
        const std::size_t block = g.first_block + (l < g.blocks ? l : 0);
        if (shares_S_[block]) P_.S(g)[k * width + l] = total;
      }
  }
}

// LLᵀ = HPHᵀ + rI and u = L⁻¹e for every block of the group; L takes the place of HPHᵀ. Without a
// floor the gain has no scale: PHᵀ/(4HPHᵀ) sends weights to 1e90 as H goes to 0, and is 0/0 there.
// A block with as good as no information is therefore left alone, as any r > 0 would do.
int BlockKalman::factor(const BlockGroup& g, std::span<const double> e, double floor) {
  const double least = floor > 0 ? -1 : least_information * static_cast<double>(n_d_);
  return active().factor(n_d_, e.data(), floor, options_.noise_factor, least, P_.S(g).data(),
                         u_.data());
}

}  // namespace kalstream
