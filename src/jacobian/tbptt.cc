#include "jacobian/tbptt.h"

#include <algorithm>

#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;

Tbptt::Tbptt(const NetworkOptions& network)
    : Differentiator(network),
      window_(network.cell == Cell::feedforward ? 1 : network.window),
      start_(layout_.n_s),
      ring_(layout_, window_),
      da_(window_ * gates_size(layout_)),
      dy_(in_eights(layout_.n_s)),
      dc_(in_eights(layout_.n_s)) {}

// Propagates the past samples of the window again, if θ has changed since.
void Tbptt::refresh(const double* theta) {
  if (!stale_) return;
  weights_.set(layout_, theta);
  for (std::size_t k = 0; k < past_; ++k) {
    const CellStep step = ring_[slot(k)];
    cell_forward(layout_, weights_, step.input, c_before(k), y_before(k), step);
  }
  stale_ = false;
}

std::span<const double> Tbptt::forward(const double* theta, std::span<const double> x) {
  refresh(theta);
  const CellStep newest = ring_[slot(past_)];
  cell_forward(layout_, weights_, x.data(), c_before(past_), y_before(past_), newest);
  output_forward(layout_, activation_, theta, newest, d_hat_);
  return d_hat_;
}

// Row k of H: the output row's own weights, then back through the window from ∂d̂_k/∂y = g'·W^d_k.
// What the steps add to ∂d̂_k/∂W = Σ_s da_s [x_s ; y_{s−1}]ᵀ is added up for all of them at once.
void Tbptt::jacobian(const double* theta, std::span<double> H) {
  const std::size_t stride = gates_size(layout_);
  for (std::size_t k = 0; k < layout_.n_d; ++k) {
    double* row = H.data() + k * layout_.size();
    const double slope = output_slope(activation_, d_hat_[k]);
    const std::size_t output_row = layout_.output_row(k);
    std::fill(row + layout_.gate_weights(), row + layout_.size(), 0.0);
    output_jacobian(layout_, ring_[slot(past_)], slope, row + output_row);

    std::fill(dy_.begin(), dy_.end(), 0.0);
    active().axpy(layout_.n_s, slope, theta + output_row, dy_.data());
    std::fill(dc_.begin(), dc_.end(), 0.0);
    for (std::size_t s = past_ + 1; s-- > 0;)
      cell_backward(layout_, weights_, ring_[slot(s)], c_before(s), y_before(s),
                    &da_[slot(s) * stride], dy_.data(), dc_.data());
    cell_gradient(layout_, ring_, past_ + 1, da_.data(), row);
  }
}

// A full window moves on by one: the state after its first step is carried from now on.
void Tbptt::commit(const double* /*theta*/) {
  if (++past_ < window_) return;
  const CellStep step = ring_[slot(0)];
  std::copy_n(step.c, start_.c.size(), start_.c.data());
  std::copy_n(step.y, start_.y.size(), start_.y.data());
  first_ = slot(1);
  --past_;
}

void Tbptt::start_ahead(const double* theta) {
  refresh(theta);
  std::copy_n(c_before(past_), ahead_.c.size(), ahead_.c.data());
  std::copy_n(y_before(past_), ahead_.y.size(), ahead_.y.data());
}

void Tbptt::reset() {
  std::fill(start_.c.begin(), start_.c.end(), 0.0);
  std::fill(start_.y.begin(), start_.y.end(), 0.0);
  first_ = 0;
  past_ = 0;
  stale_ = true;
}

// The steps of the window are left out: stale_ after construction, they are propagated again, to
// the same bits. The place of the first one counts, because sums over the window go by slots.
void Tbptt::exchange(Archive& archive) {
  start_.exchange(archive, layout_.n_s);
  archive.count(past_, window_ - 1);
  archive.count(first_, past_ < window_ - 1 ? 0 : window_ - 1);
  for (std::size_t k = 0; k < past_; ++k)
    archive.numbers({ring_[slot(k)].input, layout_.n_inputs}, Archive::usable);
}

}  // namespace kalstream
