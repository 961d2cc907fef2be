// A network written out by its equations, for any kind of number: the oracle for everything that
// computes it, or derives it, faster.
#pragma once

#include <cmath>
#include <vector>

#include "kalstream/options.h"
#include "model/network.h"

namespace kalstream::test {

/// The weights a network starts with.
inline std::vector<double> initial_weights(const NetworkOptions& network,
                                           const ParameterLayout& layout) {
  std::vector<double> theta(layout.size());
  draw_initial_weights(network, layout, theta);
  return theta;
}

template <class T>
struct State {
  explicit State(std::size_t n_s) : c(n_s), y(n_s) {}
  std::vector<T> c;
  std::vector<T> y;
};

/// Eqs 1–7, one loop per equation, and what the other cells have in the place of 1–6.
template <class T>
struct Equations {
  explicit Equations(const NetworkOptions& o) : options(o) {}

  void step(const std::vector<T>& theta, const std::vector<double>& x, State<T>& state) const {
    std::vector<T> input(x.begin(), x.end());
    if (options.input_bias) input.push_back(1.0);
    if (options.cell != Cell::feedforward)
      input.insert(input.end(), state.y.begin(), state.y.end());
    const auto met = [&](std::size_t gate, std::size_t unit, const std::vector<T>& seen) {
      const std::size_t row = (gate * options.hidden + unit) * seen.size();
      T a = 0;
      for (std::size_t k = 0; k < seen.size(); ++k) a += theta[row + k] * seen[k];
      return a;
    };
    const auto activation = [&](std::size_t gate, std::size_t unit) {
      return met(gate, unit, input);
    };
    const auto logistic = [](T a) { return 1.0 / (1.0 + std::exp(-a)); };
    State<T> next(options.hidden);
    if (options.cell == Cell::gru) {
      std::vector<T> reset = input;
      const std::size_t first = input.size() - options.hidden;
      for (std::size_t u = 0; u < options.hidden; ++u)
        reset[first + u] *= logistic(activation(0, u));
      for (std::size_t u = 0; u < options.hidden; ++u) {
        const T f = logistic(activation(1, u));
        next.y[u] = f * state.y[u] + (1.0 - f) * std::tanh(met(2, u, reset));
      }
      state = next;
      return;
    }
    for (std::size_t u = 0; u < options.hidden; ++u) {
      const T z = std::tanh(activation(0, u));
      next.y[u] = z;
      if (options.cell != Cell::lstm) continue;
      const T i = logistic(activation(1, u));
      const T f = logistic(activation(2, u));
      const T o = logistic(activation(3, u));
      next.c[u] = i * z + f * state.c[u];
      next.y[u] = o * std::tanh(next.c[u]);
    }
    state = next;
  }

  std::vector<T> output(const std::vector<T>& theta, const std::vector<double>& x,
                        const State<T>& state) const {
    std::vector<T> seen = state.y;
    if (options.output_bias) seen.push_back(1.0);
    if (options.direct)
      for (const double v : x) seen.push_back(v / std::sqrt(static_cast<double>(x.size())));
    const std::size_t first = theta.size() - options.outputs * seen.size();
    std::vector<T> d_hat(options.outputs);
    for (std::size_t k = 0; k < options.outputs; ++k) {
      T a = 0;
      for (std::size_t n = 0; n < seen.size(); ++n)
        a += theta[first + k * seen.size() + n] * seen[n];
      d_hat[k] = options.output_activation == OutputActivation::tanh ? std::tanh(a) : a;
    }
    return d_hat;
  }

  NetworkOptions options;
};

}  // namespace kalstream::test
