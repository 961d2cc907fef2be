#include "model/lstm.h"

#include <algorithm>
#include <array>

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

void LstmWeights::set(const ParameterLayout& layout, const double* theta) {
  const std::size_t n_s = layout.n_s;
  const std::size_t row = layout.gate_row_size();
  const std::size_t gates = gates_size(layout);
  std::size_t r = 0;
  for (; r + kernels::width <= 4 * n_s; r += kernels::width) {
    std::array<const double*, kernels::width> rows;
    for (std::size_t l = 0; l < rows.size(); ++l) rows[l] = theta + (r + l) * row;
    kernels::active().interleave(row, rows.data(), gates, &transposed[r]);
  }
  for (; r < 4 * n_s; ++r)
    for (std::size_t j = 0; j < row; ++j) transposed[j * gates + r] = theta[r * row + j];
  kernels::active().copy_rows(4 * n_s, n_s, theta + layout.n_x, row, recurrent.data(),
                              in_eights(n_s));
}

// Eqs 1–6. [z;i;f;o] = act(W [x ; y₋]);  c = i∘z + f∘c₋;  y = o∘tanh(c).
void lstm_forward(const ParameterLayout& layout, const LstmWeights& weights, const double* x,
                  const double* c_before, const double* y_before, const LstmStep& step) {
  if (x != step.input) std::copy_n(x, layout.n_inputs, step.input);
  if (layout.n_x > layout.n_inputs) step.input[layout.n_x - 1] = 1;
  std::copy_n(y_before, layout.n_s, step.input + layout.n_x);
  kernels::active().lstm_forward(layout.n_s, layout.gate_row_size(), weights.transposed.data(),
                                 step.input, c_before, step.gates, step.c, step.tanh_c, step.y);
}

void output_forward(const ParameterLayout& layout, OutputActivation activation, const double* theta,
                    const double* y, std::span<double> d_hat) {
  for (std::size_t k = 0; k < layout.n_d; ++k) {
    const double* row = theta + layout.output_row(k);
    d_hat[k] =
        kernels::active().dot(layout.n_s, row, y) + (layout.output_bias ? row[layout.n_s] : 0);
  }
  if (activation == OutputActivation::tanh)
    kernels::active().tanh(layout.n_d, d_hat.data(), d_hat.data());
}

void unroll(const ParameterLayout& layout, OutputActivation activation, const double* theta,
            const LstmWeights& weights, std::span<const double> inputs, LstmState& state,
            const LstmStep& scratch, std::span<double> d_hat) {
  for (std::size_t k = 0; k < d_hat.size() / layout.n_d; ++k) {
    lstm_forward(layout, weights, inputs.data() + k * layout.n_inputs, state.c.data(),
                 state.y.data(), scratch);
    std::copy_n(scratch.c, state.c.size(), state.c.data());
    std::copy_n(scratch.y, state.y.size(), state.y.data());
    output_forward(layout, activation, theta, scratch.y, d_hat.subspan(k * layout.n_d, layout.n_d));
  }
}

double output_slope(OutputActivation activation, double d_hat) {
  return activation == OutputActivation::tanh ? 1 - d_hat * d_hat : 1;
}

}  // namespace kalstream
