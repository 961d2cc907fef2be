// What a learner is made of: the network and one training rule, as plain values. Without any, it is
// `Auto`, which needs none but the number of inputs.
//
// The defaults are what docs/defaults.md measured to work best over many streams, and need no
// knowledge of the stream or its length. `validate()` throws std::invalid_argument and names the
// offending field. Symbols are those of docs/notation.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "kalstream/loss.h"
#include "kalstream/rules/algorithm1.h"
#include "kalstream/rules/algorithm2.h"
#include "kalstream/rules/auto.h"
#include "kalstream/rules/baselines.h"
#include "kalstream/rules/first_order.h"
#include "kalstream/rules/kalman.h"
#include "kalstream/rules/kernel.h"
#include "kalstream/rules/parallel_ekf.h"
#include "kalstream/rules/trees.h"
#include "kalstream/schedule.h"

namespace kalstream {

enum class OutputActivation { tanh, identity };

/// How H = ∂d̂/∂θ is obtained: back-propagation through a window, or exact real-time recurrent
/// learning.
enum class Derivative { tbptt, rtrl };

/// What a hidden unit is: the paper's LSTM; y_t = tanh(W [x_t ; y_{t−1}]), a quarter of the
/// weights; y_t = tanh(W x_t), without memory; or a gated recurrent unit, three quarters:
/// [r;f] = logistic(W [x_t ; y_{t−1}]), z = tanh(W_z [x_t ; r∘y_{t−1}]), y_t = f∘y_{t−1} + (1−f)∘z.
enum class Cell { lstm, simple, feedforward, gru };

/// Constants for the gates' bias weights; a gate left unset keeps its random start.
struct GateBias {
  std::optional<double> input;
  std::optional<double> forget;
  std::optional<double> output;
};

/// One hidden layer, of LSTM units in the paper (eqs 1–6), and an output layer (eq. 7).
struct NetworkOptions {
  std::size_t inputs = 1;  ///< numbers per sample, the constant not counted
  Cell cell = Cell::lstm;
  std::size_t hidden = 16;  ///< n_s ≥ 1; 0 for a linear model: feedforward and direct
  std::size_t outputs = 1;  ///< n_d ≥ 1
  bool input_bias = true;   ///< append a constant 1 to every input: n_x = inputs + 1
  bool output_bias = true;  ///< one more column of W^d, fed with 1
  bool direct = false;      ///< and one for each input, fed with x/√inputs: a linear model inside
  OutputActivation output_activation = OutputActivation::tanh;
  double weight_deviation = 0.1;  ///< θ₁ ~ N(0, weight_deviation²)
  /// Of a GRU the f above is the forget gate, and the others have none; without gates or input_bias
  /// there are no such weights, and this has no effect.
  GateBias gate_bias = {.input = 1, .forget = 1, .output = {}};
  Derivative derivative = Derivative::tbptt;
  std::size_t window = 10;  ///< τ ≥ 1, for tbptt
  std::uint64_t seed = 1;

  void validate() const;
};

/// The training rules there are, each with options of its own.
using Rule = std::variant<Sgd, RmsProp, Adam, Ekf, Dekf, Iekf, Algorithm1, Algorithm2, ParallelEkf,
                          Kernel, Trees, Rls, Ar, Naive, Mean, Auto>;

/// Rls, Ar, Naive or Mean: for a network to beat.
bool is_baseline(const Rule& rule);

/// Ar, Naive or Mean: predicts from past targets alone.
bool ignores_inputs(const Rule& rule);

/// Those and Auto: looks at past targets by itself.
bool sees_past_targets(const Rule& rule);

/// A baseline or Auto: scales by itself.
bool takes_raw_data(const Rule& rule);

/// Auto: learns from samples that lack inputs (NaN), too.
bool takes_missing_inputs(const Rule& rule);

struct LearnerOptions {
  NetworkOptions network;
  Rule rule = Auto{};
  /// So many past targets are inputs as well, after network.inputs others, which may then be none;
  /// 0 for the rules that look at past targets by themselves. While a target is missing, and in a
  /// forecast, the learner's own prediction stands for it.
  std::size_t lags = 0;
  Loss loss = {};  ///< squared for baselines and Auto

  void validate() const;
};

}  // namespace kalstream
