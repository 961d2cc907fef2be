#include "model/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/rng.h"
#include "kernels/kernels.h"

namespace kalstream {

void draw_initial_weights(const NetworkOptions& network, const ParameterLayout& layout,
                          std::span<double> theta) {
  Rng rng(network.seed);
  for (double& w : theta) w = network.weight_deviation * rng.normal();

  if (!network.input_bias) return;
  const auto set_bias = [&](std::size_t gate, const std::optional<double>& bias) {
    if (!bias) return;
    for (std::size_t unit = 0; unit < layout.n_s; ++unit)
      theta[layout.gate_row(gate, unit) + layout.n_x - 1] = *bias;
  };
  if (network.cell == Cell::lstm) {
    set_bias(ParameterLayout::i, network.gate_bias.input);
    set_bias(ParameterLayout::f, network.gate_bias.forget);
    set_bias(ParameterLayout::o, network.gate_bias.output);
  }
  if (network.cell == Cell::gru) set_bias(ParameterLayout::gru_f, network.gate_bias.forget);
}

void CellWeights::set(const ParameterLayout& layout, const double* theta) {
  const std::size_t n_s = layout.n_s;
  const std::size_t row = layout.gate_row_size();
  const std::size_t gates = gates_size(layout);
  std::size_t r = 0;
  for (; r + kernels::width <= layout.gate_rows(); r += kernels::width) {
    std::array<const double*, kernels::width> rows;
    for (std::size_t l = 0; l < rows.size(); ++l) rows[l] = theta + (r + l) * row;
    kernels::active().interleave(row, rows.data(), gates, &transposed[r]);
  }
  for (; r < layout.gate_rows(); ++r)
    for (std::size_t j = 0; j < row; ++j) transposed[j * gates + r] = theta[r * row + j];
  if (layout.cell != Cell::feedforward)
    kernels::active().copy_rows(layout.gate_rows(), n_s, theta + layout.n_x, row, recurrent.data(),
                                in_eights(n_s));
}

// LSTM, eqs 1–6: [z;i;f;o] = act(W [x ; y₋]);  c = i∘z + f∘c₋;  y = o∘tanh(c).
// GRU: [r;f] = act(W [x ; y₋]);  z = tanh(W_z [x ; r∘y₋]);  y = f∘y₋ + (1−f)∘z.
// Simple: y = tanh(W [x ; y₋]). Feed-forward: y = tanh(W x).
void cell_forward(const ParameterLayout& layout, const CellWeights& weights, const double* x,
                  const double* c_before, const double* y_before, const CellStep& step) {
  if (x != step.input) std::copy_n(x, layout.n_inputs, step.input);
  if (layout.n_x > layout.n_inputs) step.input[layout.n_x - 1] = 1;
  if (layout.cell != Cell::feedforward) std::copy_n(y_before, layout.n_s, step.input + layout.n_x);
  if (layout.cell == Cell::lstm) {
    kernels::active().lstm_forward(layout.n_s, layout.gate_row_size(), weights.transposed.data(),
                                   step.input, c_before, step.gates, step.c, step.tanh_c, step.y);
  } else if (layout.cell == Cell::gru) {
    std::copy_n(step.input, layout.n_x, step.reset_input);
    kernels::active().gru_forward(layout.n_s, layout.n_x, weights.transposed.data(), step.input,
                                  y_before, step.reset_input, step.gates, step.y);
  } else {
    kernels::active().tanh_forward(layout.n_s, layout.gate_row_size(), weights.transposed.data(),
                                   step.input, step.y);
  }
}

// Simple: da = dy∘(1 − y²);  dy ← W_yᵀ da.
void cell_backward(const ParameterLayout& layout, const CellWeights& weights, const CellStep& step,
                   const double* c_before, const double* y_before, double* da, double* dy,
                   double* dc) {
  if (layout.cell == Cell::lstm)
    kernels::active().lstm_backward(layout.n_s, weights.recurrent.data(), step.gates, c_before,
                                    step.tanh_c, da, dy, dc);
  else if (layout.cell == Cell::gru)
    kernels::active().gru_backward(layout.n_s, weights.recurrent.data(), step.gates, y_before, da,
                                   dy, dc);
  else
    kernels::active().tanh_backward(
        layout.n_s, layout.cell == Cell::simple ? weights.recurrent.data() : nullptr, step.y, da,
        dy);
}

// Rows of a GRU's z have met another input than the rest.
void cell_gradient(const ParameterLayout& layout, CellSteps& steps, std::size_t count,
                   const double* da, double* dW) {
  const std::size_t columns = layout.gate_row_size();
  const auto add_up = [&](std::size_t first_row, std::size_t rows, const double* input) {
    kernels::active().outer_products(count, rows, columns, da + first_row, gates_size(layout),
                                     input, steps.input_size(), dW + first_row * columns);
  };
  const bool is_gru = layout.cell == Cell::gru;
  const std::size_t rows = layout.gate_rows() - (is_gru ? layout.n_s : 0);
  add_up(0, rows, steps[0].input);
  if (is_gru) add_up(rows, layout.n_s, steps[0].reset_input);
}

namespace {

// What direct connections are fed with, in units of x: their share of a prediction's variance is
// then the same for any number of inputs.
double direct_unit(const ParameterLayout& layout) {
  return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(layout.n_inputs, 1)));
}

}  // namespace

void output_forward(const ParameterLayout& layout, OutputActivation activation, const double* theta,
                    const CellStep& step, std::span<double> d_hat) {
  const auto dot = kernels::active().dot;
  for (std::size_t k = 0; k < layout.n_d; ++k) {
    const double* row = theta + layout.output_row(k);
    d_hat[k] = dot(layout.n_s, row, step.y) + (layout.output_bias ? row[layout.n_s] : 0);
    if (layout.direct)
      d_hat[k] +=
          direct_unit(layout) * dot(layout.n_inputs, row + layout.direct_offset(), step.input);
  }
  if (activation == OutputActivation::tanh)
    kernels::active().tanh(layout.n_d, d_hat.data(), d_hat.data());
}

void output_jacobian(const ParameterLayout& layout, const CellStep& step, double slope,
                     double* row) {
  std::fill_n(row, layout.output_row_size(), 0.0);
  kernels::active().axpy(layout.n_s, slope, step.y, row);
  if (layout.output_bias) row[layout.n_s] = slope;
  if (layout.direct)
    kernels::active().axpy(layout.n_inputs, slope * direct_unit(layout), step.input,
                           row + layout.direct_offset());
}

void step_on(const ParameterLayout& layout, OutputActivation activation, const double* theta,
             const CellWeights& weights, std::span<const double> x, CellState& state,
             const CellStep& scratch, std::span<double> d_hat) {
  cell_forward(layout, weights, x.data(), state.c.data(), state.y.data(), scratch);
  std::copy_n(scratch.c, state.c.size(), state.c.data());
  std::copy_n(scratch.y, state.y.size(), state.y.data());
  output_forward(layout, activation, theta, scratch, d_hat);
}

double output_slope(OutputActivation activation, double d_hat) {
  // Where tanh is ±1 to the last digit its slope is none, and an output that was thrown to the
  // wrong side would stay there for ever: Adam and the EKF were, after millions of samples.
  constexpr double least = 1e-6;
  return activation == OutputActivation::tanh ? std::max(1 - d_hat * d_hat, least) : 1;
}

}  // namespace kalstream
