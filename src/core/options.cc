#include "kalstream/options.h"

#include <cmath>

#include "core/fields.h"

namespace kalstream {

double Schedule::at(std::uint64_t t) const {
  const auto n = static_cast<double>(t);
  switch (kind) {
    case Kind::linear:
      return n >= steps ? to : from + (to - from) * (n / steps);
    case Kind::exponential:
      return to + (from - to) * std::exp(-n / steps);
    default:
      return from;
  }
}

namespace {

// In the order of the enumerators.
constexpr std::string_view cells[] = {"lstm", "simple", "feedforward", "gru"};
constexpr std::string_view derivatives[] = {"tbptt", "rtrl"};
constexpr std::string_view activations[] = {"tanh", "identity"};
constexpr std::string_view losses[] = {"squared", "cross_entropy", "poisson", "huber", "quantile"};

}  // namespace

Fields fields_of(NetworkOptions& o) {
  return {
      no_setting({"inputs", "numbers per sample", &o.inputs}),
      no_setting({"outputs", "numbers to predict", &o.outputs, at_least_1}),
      {"cell", "hidden units: lstm, gru, simple (recurrent) or feedforward", choice(o.cell, cells)},
      {"hidden", "hidden units", &o.hidden},
      {"window", "samples back-propagated through (tbptt)", &o.window, at_least_1},
      {"derivative", "tbptt, or rtrl (exact over the whole past, slow)",
       choice(o.derivative, derivatives)},
      {"output", "tanh, or identity for targets outside [-1,1]",
       choice(o.output_activation, activations), anything, "output_activation"},
      {"weight_deviation", "of the random initial weights", &o.weight_deviation, not_negative},
      {"input_gate_bias", "initial bias weight of the input gates; none: random",
       &o.gate_bias.input, finite_number, "gate_bias.input"},
      {"forget_gate_bias", "of the forget gates", &o.gate_bias.forget, finite_number,
       "gate_bias.forget"},
      {"output_gate_bias", "of the output gates", &o.gate_bias.output, finite_number,
       "gate_bias.output"},
      no_setting({"input_bias", "a constant input to the hidden units", &o.input_bias}),
      {"output_bias", "a constant input to the output layer", &o.output_bias},
      {"direct", "inputs reach the output layer directly, too", &o.direct},
      no_setting({"seed", "of the random initial weights", Word{&o.seed}}),
  };
}

Fields fields_of(Loss& o) {
  static constexpr Permitted inside{"more than 0 and less than 1",
                                    [](double v) { return v > 0 && v < 1; }};
  return {{"loss", "squared, cross_entropy (classes), poisson (counts), huber or quantile",
           choice(o.kind, losses)},
          {"loss_threshold", "errors beyond count by their size (huber, quantile)", &o.threshold,
           positive, "loss.threshold"},
          {"quantile", "of the targets that d-hat shall be above (quantile)", &o.quantile, inside,
           "loss.quantile"},
          {"link_scale", "steepness of probabilities and means in the network's output",
           &o.link_scale, positive, "loss.link_scale"}};
}

void Loss::validate() const {
  Loss copy = *this;
  check(fields_of(copy));
}

void NetworkOptions::validate() const {
  require(inputs + (input_bias ? 1 : 0) >= 1, "inputs", "at least 1");
  const bool linear = cell == Cell::feedforward && direct && (inputs >= 1 || output_bias);
  require(hidden >= 1 || linear, "hidden",
          "at least 1, unless the cell is feedforward and the inputs reach the output directly");
  require(derivative == Derivative::tbptt || cell == Cell::lstm || cell == Cell::gru, "derivative",
          "tbptt, unless the cell is lstm or gru");
  NetworkOptions copy = *this;
  check(fields_of(copy));
}

}  // namespace kalstream
