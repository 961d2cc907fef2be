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

namespace kalstream {

/// A value that changes with the number t = 0, 1, 2, … of targets a learner has seen.
struct Schedule {
  enum class Kind { constant, linear, exponential };

  constexpr Schedule() = default;
  constexpr Schedule(double value) : from(value), to(value) {}  // NOLINT: a number is a schedule.

  /// from + (to − from)·min(t / steps, 1).
  static constexpr Schedule linear(double from, double to, double steps) {
    return {Kind::linear, from, to, steps};
  }
  /// to + (from − to)·exp(−t / steps): for streams without an end.
  static constexpr Schedule exponential(double from, double to, double steps) {
    return {Kind::exponential, from, to, steps};
  }

  double at(std::uint64_t t) const;

  Kind kind = Kind::constant;
  double from = 0;
  double to = 0;
  double steps = 0;

 private:
  constexpr Schedule(Kind k, double a, double b, double n) : kind(k), from(a), to(b), steps(n) {}
};

enum class OutputActivation { tanh, identity };

/// How H = ∂d̂/∂θ is obtained: back-propagation through a window, or exact real-time recurrent
/// learning.
enum class Derivative { tbptt, rtrl };

/// What a hidden unit is: the paper's LSTM; y_t = tanh(W [x_t ; y_{t−1}]), a quarter of the
/// weights; or y_t = tanh(W x_t), without memory.
enum class Cell { lstm, simple, feedforward };

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
  /// Without LSTM gates or input_bias there are no such weights, and this has no effect.
  GateBias gate_bias = {.input = 1, .forget = 1, .output = {}};
  Derivative derivative = Derivative::tbptt;
  std::size_t window = 10;  ///< τ ≥ 1, for tbptt
  std::uint64_t seed = 1;

  void validate() const;
};

// First-order rules, on the gradient g = −Hᵀe of ½‖e‖².

/// θ ← θ − μ g.
struct Sgd {
  Schedule learning_rate = 0.2;
  void validate() const;
};

/// v ← βv + (1−β)g²;  θ ← θ − μ g / (√v + ε). In a long life weights are pulled towards 0, here and
/// for Adam: 3·10⁻⁵ θ is part of g from update 131,072 on.
struct RmsProp {
  Schedule learning_rate = 0.006;
  double decay = 0.99;
  double epsilon = 1e-8;
  void validate() const;
};

/// m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  θ ← θ − μ m̂ / (√v̂ + ε), hats: bias-corrected.
struct Adam {
  Schedule learning_rate = 0.004;
  double first_decay = 0.9;
  double second_decay = 0.999;
  double epsilon = 1e-8;
  void validate() const;
};

/// How θ is cut into covariance blocks: one per row of the weight matrices (the paper), per LSTM
/// unit with its four gates, per gate matrix, or a single one.
enum class Partition { node, unit, gate, full };

/// Eqs 10–13. S = HPHᵀ + rI;  θ ← θ + PHᵀS⁻¹e;  P ← P − PHᵀS⁻¹HP + qI;  P₁ = p₁I. In a long life
/// (docs/robustness.md), here and in the rules below, a block of P with a variance of max(2p₁,
/// 10,000q) is halved, and after 131,072 updates weights that no sample excites return towards 0.
struct Ekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 3;
  Schedule process_noise = 1e-4;
  /// Threads that share a step of a network of more than 4,000 weights; 16 at most have something
  /// to do. Results are the same for any number.
  std::size_t threads = 1;
  void validate() const;
};

/// One P_i per block, one innovation for all: S = Σ_i H_i P_i H_iᵀ + rI.
struct Dekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 1;
  Schedule process_noise = 1e-5;
  Partition partition = Partition::gate;
  bool output_apart = false;  ///< published real-data experiments: W^d has an innovation of its own
  void validate() const;
};

/// Eqs 14–17. One P_i and one innovation S_i = H_i P_i H_iᵀ + rI per block.
struct Iekf {
  double initial_covariance = 100;
  Schedule measurement_noise = 3;
  Schedule process_noise = 1e-4;
  Partition partition = Partition::gate;
  void validate() const;
};

/// When Algorithm 1 learns: ‖e‖² > 4ζ̄² (the text), or ‖e‖² > 4ζ̄ (published addition experiments).
enum class Gate { squared_bound, bound };

/// IEKF that learns only from errors its gate lets through, with measurement noise
/// r_i = noise_floor + noise_factor·Tr(H_i P_i H_iᵀ)/n_d.
struct Algorithm1 {
  double initial_covariance = 30;
  Schedule process_noise = 1e-5;
  double error_bound = 0.01;  ///< ζ̄ > 0
  double noise_floor = 0.5;   ///< the paper's text has none; see docs/noise-floor.md
  double noise_factor = 3;
  Gate gate = Gate::squared_bound;
  bool process_noise_when_gated = false;  ///< published real-data experiments: P gains qI anyway
  Partition partition = Partition::unit;
  void validate() const;
};

/// Whose error the experts of Algorithm 2 update with (each one's gate always judges its own).
enum class Feedback { own, mixture };

/// A mixture of Algorithm 1 instances that differ in ζ̄:
/// d̂ = Σ w_j d̂_j / Σ w_j;  w_j ← w_j·exp(−mixing_rate·‖d − d̂_j‖²).
struct Algorithm2 {
  Algorithm1 expert;                  ///< what all instances share; its error_bound is ignored
  std::vector<double> error_bounds;   ///< ζ̄_j; empty: √n_d, √n_d/2, …, 0.01
  std::vector<double> prior_weights;  ///< w_j at the start; empty: uniform
  /// Unset: 1/(8 n_d), for which Σ‖e‖² ≤ min_j Σ‖e_j‖² + 8 n_d ln N is proven (Appendix B).
  std::optional<double> mixing_rate = 1;
  Feedback feedback = Feedback::own;
  /// Threads that share the experts; pays from some 30 units on. Results are the same for any
  /// number.
  std::size_t threads = 1;

  /// error_bounds, or what stands for them when they are empty.
  std::vector<double> bounds(std::size_t outputs) const;
  void validate() const;
};

// Baselines, for a network to beat. Of NetworkOptions they read inputs and outputs only; they take
// data in any units.

/// Recursive least squares on the inputs and a constant: a linear model under Ekf with r = 1, both
/// standardised as the stream goes.
struct Rls {
  double initial_covariance = 1;
  Schedule process_noise = 0;
  void validate() const;
};

/// The same on the last targets instead of the inputs: an autoregression.
struct Ar {
  std::size_t lags = 8;  ///< targets, ≥ 1
  double initial_covariance = 100;
  Schedule process_noise = 0;
  void validate() const;
};

/// d̂ is the last target; 0 before there is one.
struct Naive {
  void validate() const {}
};

/// d̂ is the mean of the targets so far; 0 before there is one.
struct Mean {
  void validate() const {}
};

/// No tuning: networks of several kinds and sizes, linear models, the last value and the mean,
/// blended (docs/auto.md). Takes raw data. Of the network options it uses inputs, outputs, window,
/// seed, and hidden as a measure of size.
struct Auto {
  std::size_t experts = 0;  ///< networks, the most useful first; 0: all
  std::size_t lags = 24;    ///< past targets the experts may look at
  bool full_ekf = false;    ///< two more experts: LSTM networks under the full EKF
  std::size_t threads = 1;  ///< that share the experts; results are the same for any number
  void validate() const;
};

using Rule = std::variant<Sgd, RmsProp, Adam, Ekf, Dekf, Iekf, Algorithm1, Algorithm2, Rls, Ar,
                          Naive, Mean, Auto>;

/// Rls, Ar, Naive or Mean.
bool is_baseline(const Rule& rule);

/// Ar, Naive or Mean: predicts from past targets alone.
bool ignores_inputs(const Rule& rule);

/// Those and Auto: looks at past targets by itself.
bool sees_past_targets(const Rule& rule);

/// A baseline or Auto: scales by itself.
bool takes_raw_data(const Rule& rule);

/// √n_d, √n_d/2, √n_d/4, …, smallest (Algorithm 2, line 2).
std::vector<double> halving_error_bounds(std::size_t outputs, double smallest = 0.01);

struct LearnerOptions {
  NetworkOptions network;
  Rule rule = Auto{};
  /// So many past targets are inputs as well, after network.inputs others, which may then be none;
  /// 0 for the rules that look at past targets by themselves. While a target is missing, and in a
  /// forecast, the learner's own prediction stands for it.
  std::size_t lags = 0;

  void validate() const;
};

}  // namespace kalstream
