// The network of the paper, one LSTM layer and an output layer, and its simpler relatives.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/archive.h"
#include "core/layout.h"
#include "kalstream/options.h"

namespace kalstream {

/// Sizes of the arrays the kernels work on: vectors of units and of gates come in eights. Eight
/// more for all gates, because a vector that starts in the last one may end beyond it, and because
/// rows at distances of a power of two would push each other out of the cache.
inline std::size_t in_eights(std::size_t n) { return std::max<std::size_t>((n + 7) / 8, 1) * 8; }
inline std::size_t gates_size(const ParameterLayout& layout) {
  return in_eights(layout.gate_rows()) + 8;
}

/// What a step leaves behind: the cell state (of an LSTM) and the layer's output (n_s, in eights).
struct CellState {
  explicit CellState(std::size_t n_s) : c(in_eights(n_s), 0.0), y(in_eights(n_s), 0.0) {}
  void exchange(Archive& archive, std::size_t n_s) {
    archive.numbers(std::span(c).first(n_s));
    archive.numbers(std::span(y).first(n_s));
  }
  AlignedVector c;
  AlignedVector y;
};

/// The gate weights of θ in the two orders the kernels read them in.
struct CellWeights {
  explicit CellWeights(const ParameterLayout& layout)
      : transposed(layout.gate_row_size() * gates_size(layout), 0.0),
        recurrent(layout.cell == Cell::feedforward ? 0 : layout.gate_rows() * in_eights(layout.n_s),
                  0.0) {}
  void set(const ParameterLayout& layout, const double* theta);

  AlignedVector transposed;  ///< Wᵀ, (n_x + n_s) × 4 n_s
  AlignedVector recurrent;   ///< W_y, 4 n_s × n_s
};

/// One forward step with everything its backward step needs but the state before it.
struct CellStep {
  double* input;        ///< [x_t ; y_{t−1}]
  double* reset_input;  ///< [x_t ; r_t∘y_{t−1}] of a GRU
  double* gates;        ///< [z; i; f; o]_t of an LSTM, [r; f; z]_t of a GRU
  double* tanh_c;
  double* c;
  double* y;
};

/// Steps one after the other, so that their inputs are the rows of one matrix.
class CellSteps {
 public:
  CellSteps(const ParameterLayout& layout, std::size_t count)
      : input_size_(in_eights(layout.gate_row_size())),
        gates_size_(gates_size(layout)),
        units_(in_eights(layout.n_s)),
        input_(count * input_size_, 0.0),
        reset_input_(layout.cell == Cell::gru ? input_.size() : 0, 0.0),
        gates_(count * gates_size_, 0.0),
        units_data_(count * 3 * units_, 0.0) {}

  CellStep operator[](std::size_t k) {
    double* units = &units_data_[k * 3 * units_];
    double* reset_input = reset_input_.empty() ? nullptr : &reset_input_[k * input_size_];
    return {&input_[k * input_size_], reset_input,       &gates_[k * gates_size_], units,
            units + units_,           units + 2 * units_};
  }
  std::size_t input_size() const { return input_size_; }  ///< from one step's input to the next

 private:
  std::size_t input_size_;
  std::size_t gates_size_;
  std::size_t units_;
  AlignedVector input_;
  AlignedVector reset_input_;
  AlignedVector gates_;
  AlignedVector units_data_;  // tanh_c, c and y of each step
};

/// θ₁ ~ N(0, deviation²), gate-bias weights as the options say.
void draw_initial_weights(const NetworkOptions& network, const ParameterLayout& layout,
                          std::span<double> theta);

/// Eqs 1–6, or what the cell has in their place, from (c, y) before; x has n_inputs entries and may
/// live in step.input already.
void cell_forward(const ParameterLayout& layout, const CellWeights& weights, const double* x,
                  const double* c_before, const double* y_before, const CellStep& step);

/// The way back through one step: from ∂/∂y in dy and ∂/∂c in dc (both n_s, in eights; dc as far as
/// it comes from later) to ∂/∂a in da and both of the step before.
void cell_backward(const ParameterLayout& layout, const CellWeights& weights, const CellStep& step,
                   const double* c_before, const double* y_before, double* da, double* dy,
                   double* dc);

/// ∂/∂W of all gate weights from ∂/∂a of `count` steps, which are the first of `steps`: Σ
/// da·inputᵀ.
void cell_gradient(const ParameterLayout& layout, CellSteps& steps, std::size_t count,
                   const double* da, double* dW);

/// Eq. 7: d̂ = g(W^d [y ; 1 ; x/√n_inputs]) of a step.
void output_forward(const ParameterLayout& layout, OutputActivation activation, const double* theta,
                    const CellStep& step, std::span<double> d_hat);

/// ∂d̂_k/∂W^d_k = slope·[y ; 1 ; x/√n_inputs] into `row`, of output_row_size().
void output_jacobian(const ParameterLayout& layout, const CellStep& step, double slope,
                     double* row);

/// Moves `state` on by one sample, writing its prediction; `scratch` is overwritten.
void step_on(const ParameterLayout& layout, OutputActivation activation, const double* theta,
             const CellWeights& weights, std::span<const double> x, CellState& state,
             const CellStep& scratch, std::span<double> d_hat);

/// g'(a) at the pre-activation that gave d_hat.
double output_slope(OutputActivation activation, double d_hat);

}  // namespace kalstream
