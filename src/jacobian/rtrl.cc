#include "jacobian/rtrl.h"

#include <algorithm>
#include <utility>

#include "core/archive.h"
#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;

Rtrl::Rtrl(const NetworkOptions& network)
    : Differentiator(network),
      state_(layout_.n_s),
      newest_(layout_, 1),
      C_(layout_.n_s * layout_.gate_weights(), 0.0),
      Y_(C_),
      C_new_(C_),
      Y_new_(C_),
      da_(4 * layout_.gate_weights()) {}

void Rtrl::refresh(const double* theta) {
  if (stale_) weights_.set(layout_, theta);
  stale_ = false;
}

std::span<const double> Rtrl::forward(const double* theta, std::span<const double> x) {
  refresh(theta);
  cell_forward(layout_, weights_, x.data(), state_.c.data(), state_.y.data(), newest_[0]);
  output_forward(layout_, activation_, theta, newest_[0], d_hat_);
  sensitivities_ready_ = false;
  return d_hat_;
}

// ∂a = W_row^{(y)} Y + input at the row itself, for a = W_row [x ; y] with Y = ∂y.
void Rtrl::add_preactivation(const double* theta, std::size_t row, const std::vector<double>& Y,
                             const double* input, double* da) const {
  const std::size_t n = layout_.gate_weights();
  const std::size_t offset = row * layout_.gate_row_size();
  const double* W_y = theta + offset + layout_.n_x;
  std::fill_n(da, n, 0.0);
  for (std::size_t v = 0; v < layout_.n_s; ++v) active().axpy(n, W_y[v], Y.data() + v * n, da);
  active().axpy(layout_.gate_row_size(), 1.0, input, da + offset);
}

// C_u = i(1−z²)∂a_z + z i(1−i)∂a_i + c₋ f(1−f)∂a_f + f C₋_u
// Y_u = tanh(c) o(1−o)∂a_o + o(1−tanh²c) C_u
void Rtrl::propagate_lstm(const double* theta) {
  const std::size_t n_s = layout_.n_s;
  const std::size_t n = layout_.gate_weights();
  const CellStep newest = newest_[0];
  for (std::size_t u = 0; u < n_s; ++u) {
    for (std::size_t gate = 0; gate < 4; ++gate)
      add_preactivation(theta, gate * n_s + u, Y_, newest.input, da_.data() + gate * n);
    const double z = newest.gates[u];
    const double i = newest.gates[n_s + u];
    const double f = newest.gates[2 * n_s + u];
    const double o = newest.gates[3 * n_s + u];
    const double tanh_c = newest.tanh_c[u];
    double* C = C_new_.data() + u * n;
    double* Y = Y_new_.data() + u * n;
    std::fill_n(C, n, 0.0);
    active().axpy(n, i * (1 - z * z), da_.data(), C);
    active().axpy(n, z * i * (1 - i), da_.data() + n, C);
    active().axpy(n, state_.c[u] * f * (1 - f), da_.data() + 2 * n, C);
    active().axpy(n, f, C_.data() + u * n, C);
    std::fill_n(Y, n, 0.0);
    active().axpy(n, tanh_c * o * (1 - o), da_.data() + 3 * n, Y);
    active().axpy(n, o * (1 - tanh_c * tanh_c), C, Y);
  }
}

// R_u = ∂(r∘y₋)_u = y₋ r(1−r)∂a_r + r Y₋_u, of all units before any of them meets W_z;
// Y_u = (y₋−z) f(1−f)∂a_f + (1−f)(1−z²)∂a_z + f Y₋_u
void Rtrl::propagate_gru(const double* theta) {
  const std::size_t n_s = layout_.n_s;
  const std::size_t n = layout_.gate_weights();
  const CellStep newest = newest_[0];
  for (std::size_t u = 0; u < n_s; ++u) {
    const double r = newest.gates[u];
    double* R = C_new_.data() + u * n;
    add_preactivation(theta, u, Y_, newest.input, da_.data());
    std::fill_n(R, n, 0.0);
    active().axpy(n, state_.y[u] * r * (1 - r), da_.data(), R);
    active().axpy(n, r, Y_.data() + u * n, R);
  }
  for (std::size_t u = 0; u < n_s; ++u) {
    const double f = newest.gates[n_s + u];
    const double z = newest.gates[2 * n_s + u];
    double* Y = Y_new_.data() + u * n;
    add_preactivation(theta, n_s + u, Y_, newest.input, da_.data());
    add_preactivation(theta, 2 * n_s + u, C_new_, newest.reset_input, da_.data() + n);
    std::fill_n(Y, n, 0.0);
    active().axpy(n, (state_.y[u] - z) * f * (1 - f), da_.data(), Y);
    active().axpy(n, (1 - f) * (1 - z * z), da_.data() + n, Y);
    active().axpy(n, f, Y_.data() + u * n, Y);
  }
}

void Rtrl::propagate_sensitivities(const double* theta) {
  layout_.cell == Cell::gru ? propagate_gru(theta) : propagate_lstm(theta);
  sensitivities_ready_ = true;
}

// Row k of H: g'·(W^d_k Y) for the gate weights; W^d_k's own.
void Rtrl::jacobian(const double* theta, std::span<double> H) {
  if (!sensitivities_ready_) propagate_sensitivities(theta);
  const std::size_t n = layout_.gate_weights();
  std::fill(H.begin(), H.end(), 0.0);
  for (std::size_t k = 0; k < layout_.n_d; ++k) {
    double* row = H.data() + k * layout_.size();
    const double slope = output_slope(activation_, d_hat_[k]);
    const std::size_t output_row = layout_.output_row(k);
    for (std::size_t u = 0; u < layout_.n_s; ++u)
      active().axpy(n, slope * theta[output_row + u], Y_new_.data() + u * n, row);
    output_jacobian(layout_, newest_[0], slope, row + output_row);
  }
}

void Rtrl::commit(const double* theta) {
  if (!sensitivities_ready_) propagate_sensitivities(theta);
  if (layout_.cell != Cell::gru) std::swap(C_, C_new_);
  std::swap(Y_, Y_new_);
  if (!all_finite(C_) || !all_finite(Y_)) {  // exploded: forget the past rather than stay stuck
    std::fill(C_.begin(), C_.end(), 0.0);
    std::fill(Y_.begin(), Y_.end(), 0.0);
  }
  std::copy_n(newest_[0].c, state_.c.size(), state_.c.data());
  std::copy_n(newest_[0].y, state_.y.size(), state_.y.data());
  sensitivities_ready_ = false;
}

void Rtrl::start_ahead(const double* theta) {
  refresh(theta);
  ahead_ = state_;
}

void Rtrl::reset() {
  std::fill(state_.c.begin(), state_.c.end(), 0.0);
  std::fill(state_.y.begin(), state_.y.end(), 0.0);
  std::fill(C_.begin(), C_.end(), 0.0);
  std::fill(Y_.begin(), Y_.end(), 0.0);
  sensitivities_ready_ = false;
  stale_ = true;
}

void Rtrl::exchange(Archive& archive) {
  state_.exchange(archive, layout_.n_s);
  if (layout_.cell != Cell::gru) archive.numbers(C_);
  archive.numbers(Y_);
}

}  // namespace kalstream
