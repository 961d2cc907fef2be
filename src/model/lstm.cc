#include "model/lstm.h"

#include <algorithm>
#include <utility>

#include "core/rng.h"
#include "kernels/kernels.h"

namespace kalstream {

std::vector<double> initial_weights(const NetworkOptions& network, const ParameterLayout& layout) {
  Rng rng(network.seed);
  std::vector<double> theta(layout.size());
  for (double& w : theta) w = network.weight_deviation * rng.normal();

  if (network.input_bias) {
    const auto set_bias = [&](ParameterLayout::Gate gate, const std::optional<double>& bias) {
      if (!bias) return;
      for (std::size_t unit = 0; unit < layout.n_s; ++unit)
        theta[layout.gate_row(gate, unit) + layout.n_x - 1] = *bias;
    };
    set_bias(ParameterLayout::i, network.gate_bias.input);
    set_bias(ParameterLayout::f, network.gate_bias.forget);
    set_bias(ParameterLayout::o, network.gate_bias.output);
  }
  return theta;
}

// Eqs 1–6. [z;i;f;o] = act(W [x ; y₋]);  c = i∘z + f∘c₋;  y = o∘tanh(c).
void lstm_forward(const ParameterLayout& layout, const double* theta, const double* x,
                  const LstmState& before, LstmStep& step) {
  const std::size_t n_s = layout.n_s;
  if (x != step.input.data()) std::copy_n(x, layout.n_inputs, step.input.begin());
  if (layout.n_x > layout.n_inputs) step.input[layout.n_x - 1] = 1;
  std::copy(before.y.begin(), before.y.end(), step.input.begin() + layout.n_x);
  step.c_previous = before.c;

  kernels::matvec(4 * n_s, layout.gate_row_size(), theta, step.input.data(), step.gates.data());
  kernels::gate_activations(n_s, step.gates.data());
  const double* z = step.gates.data();
  const double* i = z + n_s;
  const double* f = i + n_s;
  const double* o = f + n_s;
  double* c = step.after.c.data();
  double* y = step.after.y.data();
  for (std::size_t k = 0; k < n_s; ++k) c[k] = i[k] * z[k] + f[k] * step.c_previous[k];
  kernels::tanh(n_s, c, step.tanh_c.data());
  for (std::size_t k = 0; k < n_s; ++k) y[k] = o[k] * step.tanh_c[k];
}

void output_forward(const ParameterLayout& layout, OutputActivation activation, const double* theta,
                    std::span<const double> y, std::span<double> d_hat) {
  for (std::size_t k = 0; k < layout.n_d; ++k) {
    const double* row = theta + layout.output_row(k);
    d_hat[k] = kernels::dot(layout.n_s, row, y.data()) + (layout.output_bias ? row[layout.n_s] : 0);
  }
  if (activation == OutputActivation::tanh) kernels::tanh(layout.n_d, d_hat.data(), d_hat.data());
}

void unroll(const ParameterLayout& layout, OutputActivation activation, const double* theta,
            std::span<const double> inputs, LstmState& state, LstmStep& scratch,
            std::span<double> d_hat) {
  for (std::size_t k = 0; k < d_hat.size() / layout.n_d; ++k) {
    lstm_forward(layout, theta, inputs.data() + k * layout.n_inputs, state, scratch);
    std::swap(state, scratch.after);
    output_forward(layout, activation, theta, state.y, d_hat.subspan(k * layout.n_d, layout.n_d));
  }
}

double output_slope(OutputActivation activation, double d_hat) {
  return activation == OutputActivation::tanh ? 1 - d_hat * d_hat : 1;
}

// da_o = dy∘tanh(c)∘o(1−o);        dc += dy∘o∘(1−tanh²c);
// da_z = dc∘i∘(1−z²);  da_i = dc∘z∘i(1−i);  da_f = dc∘c₋∘f(1−f);
// dW += da [x ; y₋]ᵀ;  dy₋ = W_yᵀ da;  dc₋ = dc∘f.
void lstm_backward(const ParameterLayout& layout, const double* theta, const LstmStep& step,
                   std::span<double> da, std::span<double> dy, std::span<double> dc, double* dW) {
  const std::size_t n_s = layout.n_s;
  const std::size_t row = layout.gate_row_size();
  const double* z = step.gates.data();
  const double* i = z + n_s;
  const double* f = i + n_s;
  const double* o = f + n_s;
  for (std::size_t k = 0; k < n_s; ++k) {
    const double tanh_c = step.tanh_c[k];
    da[3 * n_s + k] = dy[k] * tanh_c * o[k] * (1 - o[k]);
    dc[k] += dy[k] * o[k] * (1 - tanh_c * tanh_c);
    da[k] = dc[k] * i[k] * (1 - z[k] * z[k]);
    da[n_s + k] = dc[k] * z[k] * i[k] * (1 - i[k]);
    da[2 * n_s + k] = dc[k] * step.c_previous[k] * f[k] * (1 - f[k]);
    dc[k] *= f[k];
  }
  std::fill(dy.begin(), dy.end(), 0.0);
  for (std::size_t r = 0; r < 4 * n_s; ++r) {
    kernels::axpy(row, da[r], step.input.data(), dW + r * row);
    kernels::axpy(n_s, da[r], theta + r * row + layout.n_x, dy.data());
  }
}

}  // namespace kalstream
