// The network of the paper: one LSTM layer and an output layer, forward and backward side by side.
#pragma once

#include <span>
#include <vector>

#include "core/layout.h"
#include "kalstream/options.h"

namespace kalstream {

/// What a step leaves behind: the cell state and the layer's output.
struct LstmState {
  explicit LstmState(std::size_t n_s) : c(n_s, 0.0), y(n_s, 0.0) {}
  std::vector<double> c;
  std::vector<double> y;
};

/// One forward step with everything its backward step needs.
struct LstmStep {
  explicit LstmStep(const ParameterLayout& layout)
      : input(layout.gate_row_size(), 0.0),
        gates(4 * layout.n_s, 0.0),
        c_previous(layout.n_s, 0.0),
        tanh_c(layout.n_s, 0.0),
        after(layout.n_s) {}

  std::vector<double> input;  ///< [x_t ; y_{t−1}]
  std::vector<double> gates;  ///< [z; i; f; o]_t
  std::vector<double> c_previous;
  std::vector<double> tanh_c;
  LstmState after;  ///< (c_t, y_t)
};

/// θ₁ ~ N(0, deviation²), gate-bias weights as the options say.
std::vector<double> initial_weights(const NetworkOptions& network, const ParameterLayout& layout);

/// Eqs 1–6 from `before`; x has n_inputs entries and may live in step.input already.
void lstm_forward(const ParameterLayout& layout, const double* theta, const double* x,
                  const LstmState& before, LstmStep& step);

/// Eq. 7: d̂ = g(W^d [y ; 1]).
void output_forward(const ParameterLayout& layout, OutputActivation activation, const double* theta,
                    std::span<const double> y, std::span<double> d_hat);

/// Runs the network on from `state` over rows of n_inputs numbers, writing rows of n_d predictions.
/// `state` ends as the last state; `scratch` is overwritten.
void unroll(const ParameterLayout& layout, OutputActivation activation, const double* theta,
            std::span<const double> inputs, LstmState& state, LstmStep& scratch,
            std::span<double> d_hat);

/// g'(a) at the pre-activation that gave d_hat.
double output_slope(OutputActivation activation, double d_hat);

/// Backward through one step. On entry dy, dc hold ∂d̂_k/∂y_t and the part of ∂d̂_k/∂c_t that comes
/// from later steps; on exit the same for t−1. Adds the step's part of ∂d̂_k/∂W to dW.
/// `da` is scratch of 4 n_s.
void lstm_backward(const ParameterLayout& layout, const double* theta, const LstmStep& step,
                   std::span<double> da, std::span<double> dy, std::span<double> dc, double* dW);

}  // namespace kalstream
