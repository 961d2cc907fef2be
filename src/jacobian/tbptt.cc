#include "jacobian/tbptt.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace kalstream {

Tbptt::Tbptt(const NetworkOptions& network)
    : layout_(network),
      activation_(network.output_activation),
      start_(layout_.n_s),
      ring_(network.window, LstmStep(layout_)),
      d_hat_(layout_.n_d),
      da_(4 * layout_.n_s),
      dy_(layout_.n_s),
      dc_(layout_.n_s),
      ahead_(layout_.n_s),
      ahead_step_(layout_) {}

// Propagates the past samples of the window again, if θ has changed since.
void Tbptt::refresh(const double* theta) {
  if (!stale_) return;
  for (std::size_t k = 0; k < past_; ++k)
    lstm_forward(layout_, theta, step(k).input.data(), state_before(k), step(k));
  stale_ = false;
}

std::span<const double> Tbptt::forward(const double* theta, std::span<const double> x) {
  refresh(theta);
  LstmStep& newest = step(past_);
  lstm_forward(layout_, theta, x.data(), state_before(past_), newest);
  output_forward(layout_, activation_, theta, newest.after.y, d_hat_);
  return d_hat_;
}

// Row k of H: ∂d̂_k/∂W^d_k = g'·[y ; 1], then back through the window from ∂d̂_k/∂y = g'·W^d_k.
void Tbptt::jacobian(const double* theta, std::span<double> H) {
  std::fill(H.begin(), H.end(), 0.0);
  const LstmStep& newest = step(past_);
  for (std::size_t k = 0; k < layout_.n_d; ++k) {
    double* row = H.data() + k * layout_.size();
    const double slope = output_slope(activation_, d_hat_[k]);
    const std::size_t output_row = layout_.output_row(k);
    kernels::axpy(layout_.n_s, slope, newest.after.y.data(), row + output_row);
    if (layout_.output_bias) row[output_row + layout_.n_s] = slope;

    std::fill(dy_.begin(), dy_.end(), 0.0);
    kernels::axpy(layout_.n_s, slope, theta + output_row, dy_.data());
    std::fill(dc_.begin(), dc_.end(), 0.0);
    for (std::size_t s = past_ + 1; s-- > 0;)
      lstm_backward(layout_, theta, step(s), da_, dy_, dc_, row);
  }
}

// A full window moves on by one: the state after its first step is carried from now on.
void Tbptt::commit(const double* /*theta*/) {
  if (++past_ < ring_.size()) return;
  start_ = step(0).after;
  first_ = (first_ + 1) % ring_.size();
  --past_;
}

void Tbptt::forecast(const double* theta, std::span<const double> inputs, std::span<double> d_hat) {
  refresh(theta);
  ahead_ = state_before(past_);
  unroll(layout_, activation_, theta, inputs, ahead_, ahead_step_, d_hat);
}

void Tbptt::reset() {
  std::fill(start_.c.begin(), start_.c.end(), 0.0);
  std::fill(start_.y.begin(), start_.y.end(), 0.0);
  first_ = 0;
  past_ = 0;
  stale_ = false;
}

}  // namespace kalstream
