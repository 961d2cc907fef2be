#include "jacobian/rtrl.h"

#include <algorithm>
#include <utility>

#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

Rtrl::Rtrl(const NetworkOptions& network)
    : layout_(network),
      activation_(network.output_activation),
      state_(layout_.n_s),
      newest_(layout_),
      C_(layout_.n_s * layout_.gate_weights(), 0.0),
      Y_(C_),
      C_new_(C_),
      Y_new_(C_),
      da_(4 * layout_.gate_weights()),
      d_hat_(layout_.n_d),
      ahead_(layout_.n_s),
      ahead_step_(layout_) {}

std::span<const double> Rtrl::forward(const double* theta, std::span<const double> x) {
  lstm_forward(layout_, theta, x.data(), state_, newest_);
  output_forward(layout_, activation_, theta, newest_.after.y, d_hat_);
  sensitivities_ready_ = false;
  return d_hat_;
}

// For unit u and gate g, a_g = W_{g,u} [x ; y₋]:  ∂a_g = W_{g,u}^{(y)} Y₋ + [x ; y₋] at row (g,u).
// C_u = i(1−z²)∂a_z + z i(1−i)∂a_i + c₋ f(1−f)∂a_f + f C₋_u
// Y_u = tanh(c) o(1−o)∂a_o + o(1−tanh²c) C_u
void Rtrl::propagate_sensitivities(const double* theta) {
  const std::size_t n_s = layout_.n_s;
  const std::size_t n = layout_.gate_weights();
  const std::size_t row = layout_.gate_row_size();
  for (std::size_t u = 0; u < n_s; ++u) {
    std::fill(da_.begin(), da_.end(), 0.0);
    for (std::size_t gate = 0; gate < 4; ++gate) {
      const std::size_t offset = (gate * n_s + u) * row;
      double* da = da_.data() + gate * n;
      const double* W_y = theta + offset + layout_.n_x;
      for (std::size_t v = 0; v < n_s; ++v) kernels::axpy(n, W_y[v], Y_.data() + v * n, da);
      kernels::axpy(row, 1.0, newest_.input.data(), da + offset);
    }
    const double z = newest_.gates[u];
    const double i = newest_.gates[n_s + u];
    const double f = newest_.gates[2 * n_s + u];
    const double o = newest_.gates[3 * n_s + u];
    const double tanh_c = newest_.tanh_c[u];
    double* C = C_new_.data() + u * n;
    double* Y = Y_new_.data() + u * n;
    std::fill_n(C, n, 0.0);
    kernels::axpy(n, i * (1 - z * z), da_.data(), C);
    kernels::axpy(n, z * i * (1 - i), da_.data() + n, C);
    kernels::axpy(n, newest_.c_previous[u] * f * (1 - f), da_.data() + 2 * n, C);
    kernels::axpy(n, f, C_.data() + u * n, C);
    std::fill_n(Y, n, 0.0);
    kernels::axpy(n, tanh_c * o * (1 - o), da_.data() + 3 * n, Y);
    kernels::axpy(n, o * (1 - tanh_c * tanh_c), C, Y);
  }
  sensitivities_ready_ = true;
}

// Row k of H: g'·(W^d_k Y) for the gate weights, g'·[y ; 1] for W^d_k.
void Rtrl::jacobian(const double* theta, std::span<double> H) {
  if (!sensitivities_ready_) propagate_sensitivities(theta);
  const std::size_t n = layout_.gate_weights();
  std::fill(H.begin(), H.end(), 0.0);
  for (std::size_t k = 0; k < layout_.n_d; ++k) {
    double* row = H.data() + k * layout_.size();
    const double slope = output_slope(activation_, d_hat_[k]);
    const std::size_t output_row = layout_.output_row(k);
    for (std::size_t u = 0; u < layout_.n_s; ++u)
      kernels::axpy(n, slope * theta[output_row + u], Y_new_.data() + u * n, row);
    kernels::axpy(layout_.n_s, slope, newest_.after.y.data(), row + output_row);
    if (layout_.output_bias) row[output_row + layout_.n_s] = slope;
  }
}

void Rtrl::commit(const double* theta) {
  if (!sensitivities_ready_) propagate_sensitivities(theta);
  std::swap(C_, C_new_);
  std::swap(Y_, Y_new_);
  if (!all_finite(C_) || !all_finite(Y_)) {  // exploded: forget the past rather than stay stuck
    std::fill(C_.begin(), C_.end(), 0.0);
    std::fill(Y_.begin(), Y_.end(), 0.0);
  }
  state_ = newest_.after;
  sensitivities_ready_ = false;
}

void Rtrl::forecast(const double* theta, std::span<const double> inputs, std::span<double> d_hat) {
  ahead_ = state_;
  unroll(layout_, activation_, theta, inputs, ahead_, ahead_step_, d_hat);
}

void Rtrl::reset() {
  std::fill(state_.c.begin(), state_.c.end(), 0.0);
  std::fill(state_.y.begin(), state_.y.end(), 0.0);
  std::fill(C_.begin(), C_.end(), 0.0);
  std::fill(Y_.begin(), Y_.end(), 0.0);
  sensitivities_ready_ = false;
}

}  // namespace kalstream
