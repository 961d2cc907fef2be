#include "update/block_kalman.h"

#include <algorithm>
#include <cmath>

#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::packed_diagonal;
using kernels::packed_size;

namespace {

// Mean variance of a prediction, in targets of size one, below which a block cannot explain it.
constexpr double least_information = 1e-12;

}  // namespace

BlockKalman::BlockKalman(const BlockKalmanOptions& options, const ParameterLayout& layout)
    : options_(options),
      n_d_(layout.n_d),
      H_(n_d_ * layout.size()),
      W_(n_d_ * layout.size()),
      S_(n_d_ * n_d_),
      u_(n_d_),
      theta_new_(layout.size()) {
  std::size_t h_offset = 0;
  std::size_t P_offset = 0;
  for (Block& weights : layout.blocks(options.partition)) {
    const std::size_t n = block_size(weights);
    const bool is_output = weights.front().offset >= layout.gate_weights();
    const bool shares_S = options.shared_innovation && !(is_output && options.output_apart);
    blocks_.push_back(
        {std::move(weights), n, h_offset, P_offset, shares_S, std::vector<double>(n_d_ * n_d_)});
    h_offset += n_d_ * n;
    P_offset += packed_size(n);
  }
  P_.resize(P_offset);
  reset();
}

void BlockKalman::reset() {
  t_ = 0;
  std::fill(P_.begin(), P_.end(), 0.0);
  for (const BlockState& b : blocks_) add_process_noise(b, options_.initial_covariance);
}

std::span<const double> BlockKalman::covariance(std::size_t i) const {
  return std::span(P_).subspan(blocks_[i].P_offset, packed_size(blocks_[i].n));
}

double BlockKalman::covariance_trace() const {
  double trace = 0;
  for (const BlockState& b : blocks_)
    for (std::size_t k = 0; k < b.n; ++k) trace += P_[b.P_offset + packed_diagonal(k)];
  return trace;
}

bool BlockKalman::wants_jacobian(std::span<const double> e) const {
  return kernels::dot(e.size(), e.data(), e.data()) > options_.gate_threshold;
}

void BlockKalman::skip() {
  const double q = options_.process_noise.at(t_++);
  if (!options_.process_noise_when_gated) return;
  for (const BlockState& b : blocks_) add_process_noise(b, q);
}

// P_i ← P_i + qI.
void BlockKalman::add_process_noise(const BlockState& b, double q) {
  for (std::size_t k = 0; k < b.n; ++k) P_[b.P_offset + packed_diagonal(k)] += q;
}

// Everything is computed and judged before anything is changed: an update happens whole or not at
// all.
StepStatus BlockKalman::update(std::span<const double> e, std::span<const double> H,
                               std::span<double> theta) {
  const double q = options_.process_noise.at(t_);
  const double floor = options_.noise_floor.at(t_);
  ++t_;
  gather_H(H);
  for (BlockState& b : blocks_) innovation(b);
  if (options_.shared_innovation) {
    std::fill(S_.begin(), S_.end(), 0.0);
    for (const BlockState& b : blocks_) kernels::axpy(S_.size(), 1.0, b.S.data(), S_.data());
    if (const auto status = factor(S_, floor); is_rejected(status)) return status;
  }
  for (BlockState& b : blocks_) {
    if (!b.shares_S)
      if (const auto status = factor(b.S, floor); is_rejected(status)) return status;
    const std::vector<double>& L = b.shares_S ? S_ : b.S;
    if (const auto status = gain(b, L, e, q, theta); is_rejected(status)) return status;
  }
  for (const BlockState& b : blocks_) commit(b, q, theta);
  return StepStatus::applied;
}

void BlockKalman::gather_H(std::span<const double> H) {
  const std::size_t n_theta = theta_new_.size();
  double* out = H_.data();
  for (const BlockState& b : blocks_)
    for (std::size_t k = 0; k < n_d_; ++k)
      for (const Segment& s : b.weights)
        out = std::copy_n(H.data() + k * n_theta + s.offset, s.length, out);
}

// W_i = P_iH_iᵀ (a row per output) and S_i = H_iP_iH_iᵀ.
void BlockKalman::innovation(BlockState& b) {
  for (std::size_t k = 0; k < n_d_; ++k)
    kernels::symmetric_matvec(b.n, &P_[b.P_offset], &H_[b.h_offset + k * b.n],
                              &W_[b.h_offset + k * b.n]);
  for (std::size_t k = 0; k < n_d_; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      b.S[k * n_d_ + l] = kernels::dot(b.n, &H_[b.h_offset + k * b.n], &W_[b.h_offset + l * b.n]);
}

// S ← L with LLᵀ = S + rI, r = floor + noise_factor·Tr(S)/n_d. Without a floor the gain has no
// scale: PHᵀ/(4HPHᵀ) sends weights to 1e90 as H goes to 0, and is 0/0 there. A block with as good
// as no information is therefore left alone (L = 0), as any r > 0 would do.
StepStatus BlockKalman::factor(std::vector<double>& S, double floor) const {
  double trace = 0;
  for (std::size_t k = 0; k < n_d_; ++k) {
    const double s = S[k * n_d_ + k];
    if (!std::isfinite(s)) return StepStatus::rejected_non_finite;
    if (s < 0) return StepStatus::rejected_covariance;  // hᵀPh < 0: P is not a covariance
    trace += s;
  }
  if (floor == 0 && trace <= least_information * static_cast<double>(n_d_)) {
    std::fill(S.begin(), S.end(), 0.0);
    return StepStatus::applied;
  }
  const double r = floor + options_.noise_factor * trace / static_cast<double>(n_d_);
  for (std::size_t k = 0; k < n_d_; ++k) {
    double* row = &S[k * n_d_];
    row[k] += r;
    for (std::size_t l = 0; l <= k; ++l) {
      const double* row_l = &S[l * n_d_];
      const double rest = row[l] - kernels::dot(l, row, row_l);
      row[l] = l < k ? (row_l[l] > 0 ? rest / row_l[l] : 0) : std::sqrt(std::max(rest, 0.0));
      if (!std::isfinite(row[l])) return StepStatus::rejected_non_finite;
    }
  }
  return StepStatus::applied;
}

// W ← PHᵀL⁻ᵀ, so that G e = W(L⁻¹e) and GHP = WWᵀ: exactly symmetric, and Tr P can only fall.
// A pivot of 0 means no information: no gain.
StepStatus BlockKalman::gain(const BlockState& b, const std::vector<double>& L,
                             std::span<const double> e, double q, std::span<const double> theta) {
  double* candidate = &theta_new_[b.h_offset / n_d_];
  double* out = candidate;
  for (const Segment& s : b.weights) out = std::copy_n(theta.data() + s.offset, s.length, out);

  for (std::size_t k = 0; k < n_d_; ++k) {
    double* w = &W_[b.h_offset + k * b.n];
    const double* L_row = &L[k * n_d_];
    for (std::size_t l = 0; l < k; ++l) kernels::axpy(b.n, -L_row[l], &W_[b.h_offset + l * b.n], w);
    const double pivot = L_row[k];
    const double inverse = pivot > 0 ? 1 / pivot : 0;
    u_[k] = (e[k] - kernels::dot(k, L_row, u_.data())) * inverse;
    for (std::size_t n = 0; n < b.n; ++n) w[n] *= inverse;
    kernels::axpy(b.n, u_[k], w, candidate);
  }
  if (!all_usable({candidate, b.n})) return StepStatus::rejected_non_finite;
  for (std::size_t n = 0; n < b.n; ++n) {
    double variance = P_[b.P_offset + packed_diagonal(n)];
    for (std::size_t k = 0; k < n_d_; ++k) {
      const double w = W_[b.h_offset + k * b.n + n];
      variance -= w * w;
    }
    if (!std::isfinite(variance)) return StepStatus::rejected_non_finite;
    if (variance + q <= 0) return StepStatus::rejected_covariance;
  }
  return StepStatus::applied;
}

void BlockKalman::commit(const BlockState& b, double q, std::span<double> theta) {
  const double* candidate = &theta_new_[b.h_offset / n_d_];
  for (const Segment& s : b.weights) {
    std::copy_n(candidate, s.length, theta.data() + s.offset);
    candidate += s.length;
  }
  for (std::size_t k = 0; k < n_d_; ++k)
    kernels::rank_one_downdate(b.n, &P_[b.P_offset], &W_[b.h_offset + k * b.n]);
  add_process_noise(b, q);
}

std::unique_ptr<UpdateRule> make_rule(const Ekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = Partition::full,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Dekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .shared_innovation = true,
                         .output_apart = o.output_apart,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Iekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Algorithm1& o, const ParameterLayout& layout) {
  const double bound = o.error_bound;
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.noise_floor,
                         .noise_factor = o.noise_factor,
                         .gate_threshold = o.gate == Gate::bound ? 4 * bound : 4 * bound * bound,
                         .process_noise_when_gated = o.process_noise_when_gated},
      layout);
}

}  // namespace kalstream
