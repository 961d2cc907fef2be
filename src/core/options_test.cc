#include "kalstream/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "kalstream/learner.h"
#include "kalstream/version.h"

namespace kalstream {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// validate() throws, and the message starts with the field's name.
void expect_names(const auto& options, const std::string& field) {
  try {
    options.validate();
    ADD_FAILURE() << field << ": nothing thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()).rfind(field + " ", 0), 0U) << error.what();
  }
}

// The default options with one field changed.
template <class Options, class Value>
Options with(Value Options::*field, Value value) {
  Options options;
  options.*field = value;
  return options;
}

template <class Options>
void expect_schedule_checked(Schedule Options::*field, const std::string& name, bool zero_allowed) {
  for (const double bad : {-1e-9, nan, infinity})
    for (const Schedule& s : {Schedule(bad), Schedule::linear(1, bad, 10),
                              Schedule::linear(bad, 1, 10), Schedule::exponential(1, bad, 10)})
      expect_names(with(field, s), name);
  for (const double steps : {0.0, -1.0, nan, infinity})
    for (const Schedule& s : {Schedule::linear(1, 2, steps), Schedule::exponential(1, 2, steps)})
      expect_names(with(field, s), name);
  if (zero_allowed)
    EXPECT_NO_THROW(with(field, Schedule(0)).validate());
  else
    expect_names(with(field, Schedule(0)), name);
  EXPECT_NO_THROW(with(field, Schedule::linear(1, 2, 0.5)).validate());
}

template <class Options>
void expect_positive(double Options::*field, const std::string& name) {
  for (const double bad : {0.0, -1.0, nan, infinity}) expect_names(with(field, bad), name);
  EXPECT_NO_THROW(with(field, 1e-300).validate());
}

template <class Options>
void expect_fraction(double Options::*field, const std::string& name) {
  for (const double bad : {-0.1, 1.0, 2.0, nan}) expect_names(with(field, bad), name);
  for (const double good : {0.0, 0.999999}) EXPECT_NO_THROW(with(field, good).validate());
}

TEST(Options, DefaultsAreValid) {
  EXPECT_NO_THROW(LearnerOptions{}.validate());
  for (const Rule& rule : {Rule(Sgd{}), Rule(RmsProp{}), Rule(Adam{}), Rule(Ekf{}), Rule(Dekf{}),
                           Rule(Iekf{}), Rule(Algorithm1{}), Rule(Algorithm2{})})
    EXPECT_NO_THROW(LearnerOptions({.network = {}, .rule = rule}).validate());
}

TEST(Options, Network) {
  for (const auto& [field, name] : {std::pair(&NetworkOptions::hidden, "hidden"),
                                    std::pair(&NetworkOptions::outputs, "outputs"),
                                    std::pair(&NetworkOptions::window, "window")})
    expect_names(with(field, std::size_t{0}), name);
  NetworkOptions network = with(&NetworkOptions::inputs, std::size_t{0});
  EXPECT_NO_THROW(network.validate());  // the constant is an input, too
  network.input_bias = false;
  expect_names(network, "inputs");

  for (const Cell cell : {Cell::lstm, Cell::gru, Cell::simple, Cell::feedforward})
    for (const bool direct : {false, true}) {
      network = {};
      network.cell = cell;
      network.direct = direct;
      EXPECT_NO_THROW(network.validate());
      network.derivative = Derivative::rtrl;
      if (cell == Cell::lstm || cell == Cell::gru)
        EXPECT_NO_THROW(network.validate());
      else
        expect_names(network, "derivative");
      network.derivative = Derivative::tbptt;
      network.hidden = 0;  // a linear model
      if (cell == Cell::feedforward && direct)
        EXPECT_NO_THROW(network.validate());
      else
        expect_names(network, "hidden");
      network.inputs = 0;
      network.output_bias = false;  // nothing left to learn
      expect_names(network, "hidden");
    }

  for (const double bad : {-0.1, nan, infinity})
    expect_names(with(&NetworkOptions::weight_deviation, bad), "weight_deviation");
  EXPECT_NO_THROW(with(&NetworkOptions::weight_deviation, 0.0).validate());

  for (const double bad : {nan, infinity}) {
    network = {};
    network.gate_bias.input = bad;
    expect_names(network, "input_gate_bias");
    network = {};
    network.gate_bias.forget = bad;
    expect_names(network, "forget_gate_bias");
    network = {};
    network.gate_bias.output = bad;
    expect_names(network, "output_gate_bias");
  }
}

TEST(Options, FirstOrder) {
  expect_schedule_checked(&Sgd::learning_rate, "learning_rate", false);
  expect_schedule_checked(&RmsProp::learning_rate, "learning_rate", false);
  expect_schedule_checked(&Adam::learning_rate, "learning_rate", false);
  expect_fraction(&RmsProp::decay, "decay");
  expect_fraction(&Adam::first_decay, "first_decay");
  expect_fraction(&Adam::second_decay, "second_decay");
  expect_positive(&RmsProp::epsilon, "epsilon");
  expect_positive(&Adam::epsilon, "epsilon");
}

template <class Options>
void check_kalman() {
  expect_positive(&Options::initial_covariance, "initial_covariance");
  expect_schedule_checked(&Options::measurement_noise, "measurement_noise", false);
  expect_schedule_checked(&Options::process_noise, "process_noise", true);
}

TEST(Options, Kalman) {
  check_kalman<Ekf>();
  check_kalman<Dekf>();
  check_kalman<Iekf>();
}

TEST(Options, Algorithm1) {
  expect_positive(&Algorithm1::initial_covariance, "initial_covariance");
  expect_positive(&Algorithm1::error_bound, "error_bound");
  expect_schedule_checked(&Algorithm1::process_noise, "process_noise", true);
  for (const double bad : {-0.1, nan, infinity}) {
    expect_names(with(&Algorithm1::noise_floor, bad), "noise_floor");
    expect_names(with(&Algorithm1::noise_factor, bad), "noise_factor");
  }
  Algorithm1 options;
  options.noise_floor = 0;
  EXPECT_NO_THROW(options.validate());
  options.noise_factor = 0;
  expect_names(options, "noise_floor");
}

TEST(Options, Algorithm2) {
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    expect_names(with(&Algorithm2::error_bounds, {0.1, bad}), "error_bounds");
    expect_names(with(&Algorithm2::prior_weights, {1, bad}), "prior_weights");
    expect_names(with(&Algorithm2::mixing_rate, std::optional<double>(bad)), "mixing_rate");
  }
  Algorithm2 options;
  options.error_bounds = {0.1, 0.2};
  options.prior_weights = {1, 1, 1};
  expect_names(LearnerOptions{.network = {}, .rule = options}, "prior_weights");
  options.prior_weights = {1, 2};
  EXPECT_NO_THROW(options.validate());
  options.expert.noise_factor = -1;
  expect_names(options, "noise_factor");
}

TEST(Options, LearnerOptionsCheckBothParts) {
  LearnerOptions options;
  options.network.hidden = 0;
  expect_names(options, "hidden");
  options = {.network = {}, .rule = Sgd{.learning_rate = -1}};
  expect_names(options, "learning_rate");
  EXPECT_THROW(make_learner(options), std::invalid_argument);
  // As many priors as the default grid has bounds is only known with the network.
  options.rule = with(&Algorithm2::prior_weights, {1, 1});
  expect_names(options, "prior_weights");
}

TEST(Options, HalvingErrorBounds) {
  const std::vector<double> one{1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.01};
  EXPECT_EQ(halving_error_bounds(1), one);
  EXPECT_EQ(halving_error_bounds(4, 0.5), (std::vector<double>{2, 1, 0.5}));
  const auto two = halving_error_bounds(2);
  EXPECT_EQ(two.front(), std::sqrt(2.0));
  EXPECT_EQ(two.back(), 0.01);
  EXPECT_EQ(two.size(), 9U);
}

TEST(Schedule, Constant) {
  const Schedule s = 0.3;
  for (const std::uint64_t t : {0, 1, 1'000'000}) EXPECT_EQ(s.at(t), 0.3);
}

TEST(Schedule, Linear) {
  const Schedule s = Schedule::linear(10, 2, 4);
  const double expected[] = {10, 8, 6, 4, 2, 2, 2};
  for (std::uint64_t t = 0; t < 7; ++t) EXPECT_EQ(s.at(t), expected[t]);
  EXPECT_EQ(s.at(UINT64_MAX), 2);
  EXPECT_EQ(Schedule::linear(1, 3, 4).at(1), 1.5);
}

TEST(Schedule, Exponential) {
  const Schedule s = Schedule::exponential(10, 2, 5);
  EXPECT_EQ(s.at(0), 10);
  EXPECT_DOUBLE_EQ(s.at(5), 2 + 8 / std::exp(1.0));
  EXPECT_DOUBLE_EQ(s.at(10), 2 + 8 / std::exp(2.0));
  EXPECT_EQ(s.at(UINT64_MAX), 2);
}

TEST(Version, IsThreeNumbers) {
  const std::string v = version();
  EXPECT_EQ(std::count(v.begin(), v.end(), '.'), 2);
}

}  // namespace
}  // namespace kalstream
