#include "kalstream/options.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kalstream {
namespace {

void require(bool ok, const char* field, const char* demand) {
  if (!ok) throw std::invalid_argument(std::string(field) + " must be " + demand);
}

bool positive(double v) { return std::isfinite(v) && v > 0; }
bool not_negative(double v) { return std::isfinite(v) && v >= 0; }

void require_schedule(const Schedule& s, const char* field, bool zero_allowed) {
  const bool ok = zero_allowed ? not_negative(s.from) && not_negative(s.to)
                               : positive(s.from) && positive(s.to);
  require(ok, field, zero_allowed ? "finite and not negative" : "finite and positive");
  require(s.kind == Schedule::Kind::constant || positive(s.steps), field,
          "given a positive number of steps, unless constant");
}

void require_fraction(double v, const char* field) {
  require(v >= 0 && v < 1, field, "at least 0 and less than 1");
}

template <class Kalman>
void validate_kalman(const Kalman& o) {
  require(positive(o.initial_covariance), "initial_covariance", "finite and positive");
  require_schedule(o.measurement_noise, "measurement_noise", false);
  require_schedule(o.process_noise, "process_noise", true);
}

}  // namespace

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

void NetworkOptions::validate() const {
  require(inputs + (input_bias ? 1 : 0) >= 1, "inputs", "at least 1");
  const bool linear = cell == Cell::feedforward && direct && (inputs >= 1 || output_bias);
  require(hidden >= 1 || linear, "hidden",
          "at least 1, unless the cell is feedforward and the inputs reach the output directly");
  require(outputs >= 1, "outputs", "at least 1");
  require(derivative == Derivative::tbptt || cell == Cell::lstm, "derivative",
          "tbptt, unless the cell is lstm");
  require(window >= 1, "window", "at least 1");
  require(not_negative(weight_deviation), "weight_deviation", "finite and not negative");
  const auto finite = [](const std::optional<double>& b) { return !b || std::isfinite(*b); };
  require(finite(gate_bias.input), "input_gate_bias", "finite");
  require(finite(gate_bias.forget), "forget_gate_bias", "finite");
  require(finite(gate_bias.output), "output_gate_bias", "finite");
}

void Sgd::validate() const { require_schedule(learning_rate, "learning_rate", false); }

void RmsProp::validate() const {
  require_schedule(learning_rate, "learning_rate", false);
  require_fraction(decay, "decay");
  require(positive(epsilon), "epsilon", "finite and positive");
}

void Adam::validate() const {
  require_schedule(learning_rate, "learning_rate", false);
  require_fraction(first_decay, "first_decay");
  require_fraction(second_decay, "second_decay");
  require(positive(epsilon), "epsilon", "finite and positive");
}

void Ekf::validate() const {
  validate_kalman(*this);
  require(threads >= 1, "threads", "at least 1");
}
void Dekf::validate() const { validate_kalman(*this); }
void Iekf::validate() const { validate_kalman(*this); }

void Algorithm1::validate() const {
  require(positive(initial_covariance), "initial_covariance", "finite and positive");
  require_schedule(process_noise, "process_noise", true);
  require(positive(error_bound), "error_bound", "finite and positive");
  require(not_negative(noise_floor), "noise_floor", "finite and not negative");
  require(not_negative(noise_factor), "noise_factor", "finite and not negative");
  require(noise_floor + noise_factor > 0, "noise_floor", "positive where noise_factor is 0");
}

void Auto::validate() const {
  require(lags <= 1000, "lags", "at most 1000");
  require(threads >= 1, "threads", "at least 1");
}

void Algorithm2::validate() const {
  expert.validate();
  require(std::all_of(error_bounds.begin(), error_bounds.end(), positive), "error_bounds",
          "finite and positive, each");
  require(std::all_of(prior_weights.begin(), prior_weights.end(), positive), "prior_weights",
          "finite and positive, each");
  require(!mixing_rate || positive(*mixing_rate), "mixing_rate", "finite and positive");
  require(threads >= 1, "threads", "at least 1");
}

void Rls::validate() const {
  require(positive(initial_covariance), "initial_covariance", "finite and positive");
  require_schedule(process_noise, "process_noise", true);
}

void Ar::validate() const {
  require(lags >= 1, "lags", "at least 1");
  require(positive(initial_covariance), "initial_covariance", "finite and positive");
  require_schedule(process_noise, "process_noise", true);
}

bool ignores_inputs(const Rule& rule) {
  return std::holds_alternative<Ar>(rule) || std::holds_alternative<Naive>(rule) ||
         std::holds_alternative<Mean>(rule);
}

bool is_baseline(const Rule& rule) {
  return std::holds_alternative<Rls>(rule) || ignores_inputs(rule);
}

bool sees_past_targets(const Rule& rule) {
  return std::holds_alternative<Auto>(rule) || ignores_inputs(rule);
}

bool takes_raw_data(const Rule& rule) {
  return std::holds_alternative<Auto>(rule) || is_baseline(rule);
}

std::vector<double> halving_error_bounds(std::size_t outputs, double smallest) {
  std::vector<double> bounds;
  for (double b = std::sqrt(static_cast<double>(outputs)); b > smallest; b /= 2)
    bounds.push_back(b);
  bounds.push_back(smallest);
  return bounds;
}

std::vector<double> Algorithm2::bounds(std::size_t outputs) const {
  return error_bounds.empty() ? halving_error_bounds(outputs) : error_bounds;
}

void LearnerOptions::validate() const {
  require(network.outputs >= 1, "outputs", "at least 1");
  require(lags == 0 || !sees_past_targets(rule), "lags",
          "0 for auto, ar, naive and mean, which look at past targets by themselves");
  if (const auto* automatic = std::get_if<Auto>(&rule); automatic != nullptr) {
    require(network.inputs + automatic->lags >= 1, "lags", "at least 1 without inputs");
    NetworkOptions any = network;
    any.input_bias = true;  // without inputs there are past targets
    any.validate();
  } else if (!is_baseline(rule)) {
    NetworkOptions inner = network;
    inner.inputs += lags * network.outputs;
    inner.validate();
  }
  std::visit([](const auto& r) { r.validate(); }, rule);
  if (const auto* mixture = std::get_if<Algorithm2>(&rule); mixture != nullptr)
    require(mixture->prior_weights.empty() ||
                mixture->prior_weights.size() == mixture->bounds(network.outputs).size(),
            "prior_weights", "as many as error_bounds");
}

}  // namespace kalstream
