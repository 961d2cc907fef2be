// d̂ and H of every cell against a network written out by its equations, on complex numbers: with a
// step of 1e-30 along the imaginary axis the difference quotient has no cancellation, so the bound
// is rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <string>

#include "jacobian/rtrl.h"
#include "jacobian/tbptt.h"
#include "network_equations.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Equations;
using test::initial_weights;
using test::near;
using test::normals;
using test::same_bits;
using test::State;
using test::Vector;
using Complex = std::complex<double>;

constexpr double complex_step_bound = 1e-13;       // relative to max(1, |H|)
constexpr double central_difference_bound = 2e-9;  // the same, with h = 1e-5

/// The definition of TBPTT: the state before the window is a constant; the window is propagated
/// again with the current θ; the first state of a full window is carried on.
class Window {
 public:
  explicit Window(const NetworkOptions& options) : options_(options), start_(options.hidden) {}

  void add(const Vector& x) { inputs_.push_back(x); }

  template <class T>
  std::vector<T> predict(const std::vector<T>& theta) const {
    const Equations<T> network(options_);
    State<T> state(options_.hidden);
    std::copy(start_.c.begin(), start_.c.end(), state.c.begin());
    std::copy(start_.y.begin(), start_.y.end(), state.y.begin());
    for (const Vector& x : inputs_) network.step(theta, x, state);
    return network.output(theta, inputs_.back(), state);
  }

  void move_on(const Vector& theta) {
    if (inputs_.size() < options_.window) return;
    Equations<double>(options_).step(theta, inputs_.front(), start_);
    inputs_.erase(inputs_.begin());
  }

 private:
  NetworkOptions options_;
  State<double> start_;
  std::vector<Vector> inputs_;
};

// n_d × n_θ derivatives of predict at θ.
Vector complex_step(const auto& predict, const Vector& theta, std::size_t n_d) {
  Vector H(n_d * theta.size());
  std::vector<Complex> shifted(theta.begin(), theta.end());
  for (std::size_t n = 0; n < theta.size(); ++n) {
    shifted[n] = Complex(theta[n], 1e-30);
    const auto d_hat = predict(shifted);
    for (std::size_t k = 0; k < n_d; ++k) H[k * theta.size() + n] = d_hat[k].imag() / 1e-30;
    shifted[n] = theta[n];
  }
  return H;
}

Vector central_differences(const auto& predict, const Vector& theta, std::size_t n_d) {
  constexpr double h = 1e-5;
  Vector H(n_d * theta.size());
  Vector shifted = theta;
  for (std::size_t n = 0; n < theta.size(); ++n) {
    shifted[n] = theta[n] + h;
    const auto up = predict(shifted);
    shifted[n] = theta[n] - h;
    const auto down = predict(shifted);
    shifted[n] = theta[n];
    for (std::size_t k = 0; k < n_d; ++k) H[k * theta.size() + n] = (up[k] - down[k]) / (2 * h);
  }
  return H;
}

Vector copy(std::span<const double> v) { return {v.begin(), v.end()}; }

constexpr std::size_t steps = 14;

class Networks : public testing::TestWithParam<NetworkOptions> {
 protected:
  const NetworkOptions options = GetParam();
  const ParameterLayout layout{options};
  Rng rng{7};
  // With larger weights many simple units are so curved that central differences are far off.
  Vector theta = normals(rng, layout.size(), options.hidden > 5 ? 0.3 : 0.6);
  Vector H = Vector(layout.n_d * layout.size());

  Vector input() { return normals(rng, options.inputs); }
  void change_weights() {
    for (double& w : theta) w += 0.1 * rng.normal();
  }
  /// d̂ of as many samples as it has room for, whose inputs are the rows of `future`.
  void look_ahead(Differentiator& differentiator, const Vector& future, Vector& d_hat) const {
    differentiator.start_ahead(theta.data());
    for (std::size_t k = 0; k < d_hat.size() / layout.n_d; ++k)
      differentiator.ahead(theta.data(),
                           std::span(future).subspan(k * options.inputs, options.inputs),
                           std::span(d_hat).subspan(k * layout.n_d, layout.n_d));
  }
};

/// Those of which RTRL knows the derivative.
class GatedNetworks : public Networks {};

std::string name(const testing::TestParamInfo<NetworkOptions>& info) {
  const NetworkOptions& o = info.param;
  const char* cells[] = {"", "simple_", "feedforward_", "gru_"};
  return cells[static_cast<int>(o.cell)] + std::string(o.direct ? "direct_" : "") + "x" +
         std::to_string(o.inputs) + "_s" + std::to_string(o.hidden) + "_d" +
         std::to_string(o.outputs) + "_window" + std::to_string(o.window) +
         (o.output_activation == OutputActivation::tanh ? "_tanh" : "_identity") +
         (o.input_bias ? "" : "_no_input_bias") + (o.output_bias ? "" : "_no_output_bias");
}

std::vector<NetworkOptions> gated_networks() {
  std::vector<NetworkOptions> all;
  const auto add = [&](std::size_t inputs, std::size_t hidden, std::size_t outputs,
                       std::size_t window, OutputActivation activation, bool input_bias,
                       bool output_bias) {
    NetworkOptions o = test::small_network(inputs, hidden, outputs);
    o.window = window;
    o.output_activation = activation;
    o.input_bias = input_bias;
    o.output_bias = output_bias;
    all.push_back(o);
  };
  using enum OutputActivation;
  for (const OutputActivation g : {OutputActivation::tanh, identity}) {
    for (const std::size_t n_d : {1, 2, 3})
      for (const std::size_t window : {1, 3}) add(2, 3, n_d, window, g, true, true);
    for (const std::size_t window : {2, 10, 20}) add(2, 3, 2, window, g, true, true);
  }
  for (const bool input_bias : {false, true})
    for (const bool output_bias : {false, true})
      add(1, 1, 1, 3, OutputActivation::tanh, input_bias, output_bias);
  add(1, 2, 2, 3, identity, false, false);
  add(3, 1, 2, 2, OutputActivation::tanh, true, false);
  add(4, 5, 1, 4, OutputActivation::tanh, false, true);
  add(0, 2, 1, 3, OutputActivation::tanh, true, true);
  for (const std::size_t n_d : {1, 2, 3}) {
    add(2, 3, n_d, 3, n_d == 2 ? identity : OutputActivation::tanh, true, n_d != 3);
    all.back().direct = true;
  }
  add(3, 9, 2, 4, OutputActivation::tanh, true, true);
  for (std::size_t k = 0, lstms = all.size(); k < lstms; ++k) {
    all.push_back(all[k]);
    all.back().cell = Cell::gru;
  }
  return all;
}

std::vector<NetworkOptions> networks() {
  std::vector<NetworkOptions> all = gated_networks();
  const auto add = [&](Cell cell, bool direct, std::size_t inputs, std::size_t hidden,
                       std::size_t outputs, std::size_t window, OutputActivation activation,
                       bool input_bias = true, bool output_bias = true) {
    NetworkOptions o = test::small_network(inputs, hidden, outputs);
    o.cell = cell;
    o.direct = direct;
    o.window = window;
    o.output_activation = activation;
    o.input_bias = input_bias;
    o.output_bias = output_bias;
    all.push_back(o);
  };
  using enum OutputActivation;
  for (const Cell cell : {Cell::simple, Cell::feedforward})
    for (const bool direct : {false, true}) {
      for (const std::size_t n_d : {1, 2, 3})
        for (const std::size_t window : {1, 3})
          add(cell, direct, 2, 3, n_d, window, n_d == 2 ? identity : OutputActivation::tanh);
      add(cell, direct, 3, 9, 2, 10, OutputActivation::tanh);
      for (const bool input_bias : {false, true})
        for (const bool output_bias : {false, true})
          add(cell, direct, 1, 1, 1, 4, identity, input_bias, output_bias);
      add(cell, direct, 0, 2, 1, 3, OutputActivation::tanh);
    }
  for (const std::size_t n_d : {1, 2, 3})  // linear models
    for (const bool input_bias : {false, true})
      for (const bool output_bias : {false, true})
        add(Cell::feedforward, true, 4 * n_d - 3, 0, n_d, 3, identity, input_bias, output_bias);
  add(Cell::feedforward, true, 3, 0, 2, 1, OutputActivation::tanh);
  add(Cell::feedforward, true, 0, 0, 1, 2, identity);
  return all;
}

// Weights change now and then, so that the carried state was made with other weights.
TEST_P(Networks, TbpttIsTheDerivativeOfItsDefinition) {
  Tbptt tbptt(options);
  Window window(options);
  for (std::size_t t = 0; t < steps; ++t) {
    if (t % 3 == 2) {
      change_weights();
      tbptt.weights_changed();
    }
    const Vector x = input();
    window.add(x);
    EXPECT_TRUE(near(tbptt.forward(theta.data(), x), window.predict(theta), 1e-14));
    tbptt.jacobian(theta.data(), H);
    const auto predict = [&](const auto& weights) { return window.predict(weights); };
    EXPECT_TRUE(near(H, complex_step(predict, theta, layout.n_d), complex_step_bound)) << t;
    EXPECT_TRUE(near(H, central_differences(predict, theta, layout.n_d), central_difference_bound));
    tbptt.commit(theta.data());
    window.move_on(theta);
  }
}

// RTRL with weights that change: every θ_s of the past is shifted alike.
TEST_P(GatedNetworks, RtrlIsTheDerivativeOverTheWholePast) {
  Rtrl rtrl(options);
  std::vector<Vector> thetas;
  std::vector<Vector> inputs;
  for (std::size_t t = 0; t < steps; ++t) {
    if (t % 3 == 2) {
      change_weights();
      rtrl.weights_changed();
    }
    thetas.push_back(theta);
    inputs.push_back(input());
    const auto carried = [&](const std::vector<Complex>& shifted) {
      const Equations<Complex> network(options);
      State<Complex> state(options.hidden);
      std::vector<Complex> at(theta.size());
      for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t n = 0; n < at.size(); ++n)
          at[n] = thetas[s][n] + Complex(0, shifted[n].imag());
        network.step(at, inputs[s], state);
      }
      return network.output(at, inputs[t], state);
    };
    const Vector d_hat = copy(rtrl.forward(theta.data(), inputs[t]));
    const auto expected = carried(std::vector<Complex>(theta.size()));
    for (std::size_t k = 0; k < d_hat.size(); ++k) EXPECT_NEAR(d_hat[k], expected[k].real(), 1e-14);
    rtrl.jacobian(theta.data(), H);
    EXPECT_TRUE(near(H, complex_step(carried, theta, layout.n_d), complex_step_bound)) << t;
    rtrl.commit(theta.data());
  }
}

TEST_P(GatedNetworks, RtrlEqualsWholeHistoryTbpttAtFrozenWeights) {
  NetworkOptions whole = options;
  whole.window = 100;
  Tbptt tbptt(whole);
  Rtrl rtrl(options);
  Vector H_rtrl(H.size());
  for (std::size_t t = 0; t < 30; ++t) {
    const Vector x = input();
    EXPECT_TRUE(same_bits(tbptt.forward(theta.data(), x), rtrl.forward(theta.data(), x)));
    if (t % 4 != 1) {  // a step whose H nobody asks for still counts
      tbptt.jacobian(theta.data(), H);
      rtrl.jacobian(theta.data(), H_rtrl);
      EXPECT_TRUE(near(H_rtrl, H, 1e-14)) << t;
    }
    tbptt.commit(theta.data());
    rtrl.commit(theta.data());
  }
}

// At frozen weights the window has no say in d̂.
TEST_P(Networks, PredictionsDoNotDependOnTheWindowAtFrozenWeights) {
  NetworkOptions longer = options;
  longer.window = options.window + 3;
  Tbptt a(options);
  Tbptt b(longer);
  for (std::size_t t = 0; t < 20; ++t) {
    const Vector x = input();
    EXPECT_TRUE(same_bits(a.forward(theta.data(), x), b.forward(theta.data(), x)));
    a.commit(theta.data());
    b.commit(theta.data());
  }
}

// The shortcut for weights that stand still, against propagating the window again at every step.
TEST_P(Networks, LazyWindowIsBitIdenticalToRecomputing) {
  Tbptt lazy(options);
  Tbptt eager(options);
  Vector H_eager(H.size());
  Vector future;
  Vector ahead(3 * layout.n_d);
  Vector ahead_eager(ahead);
  for (std::size_t t = 0; t < 300; ++t) {
    if (rng.uniform() < 0.3) {
      change_weights();
      lazy.weights_changed();
    }
    do {
      const Vector x = input();
      eager.weights_changed();
      ASSERT_TRUE(same_bits(lazy.forward(theta.data(), x), eager.forward(theta.data(), x))) << t;
    } while (rng.uniform() < 0.3);
    if (rng.uniform() < 0.5) {
      lazy.jacobian(theta.data(), H);
      eager.jacobian(theta.data(), H_eager);
      ASSERT_TRUE(same_bits(H, H_eager)) << t;
    }
    if (rng.uniform() < 0.8) {
      lazy.commit(theta.data());
      eager.commit(theta.data());
    }
    if (rng.uniform() < 0.2) {
      future = normals(rng, 3 * options.inputs);
      look_ahead(lazy, future, ahead);
      eager.weights_changed();
      look_ahead(eager, future, ahead_eager);
      ASSERT_TRUE(same_bits(ahead, ahead_eager)) << t;
    }
  }
}

/// What every Differentiator promises, for both.
void for_both(const NetworkOptions& options, const auto& check) {
  check(std::make_unique<Tbptt>(options));
  if (ParameterLayout(options).gates() > 1) check(std::make_unique<Rtrl>(options));
}

TEST_P(Networks, ForwardWithoutCommitHasNoEffect) {
  for_both(options, [&](std::unique_ptr<Differentiator> once) {
    const auto often = once->clone();
    Vector H_often(H.size());
    for (std::size_t t = 0; t < 20; ++t) {
      const Vector x = input();
      for (int extra = 0; extra < 3; ++extra) {
        often->forward(theta.data(), input());
        if (extra == 1) often->jacobian(theta.data(), H_often);
      }
      ASSERT_TRUE(same_bits(once->forward(theta.data(), x), often->forward(theta.data(), x)));
      once->jacobian(theta.data(), H);
      often->jacobian(theta.data(), H_often);
      ASSERT_TRUE(same_bits(H, H_often)) << t;
      once->commit(theta.data());
      often->commit(theta.data());
      if (t % 4 == 3) {
        change_weights();
        once->weights_changed();
        often->weights_changed();
      }
    }
  });
}

TEST_P(Networks, ForecastIsSteppingOnWithFrozenWeights) {
  for_both(options, [&](std::unique_ptr<Differentiator> differentiator) {
    constexpr std::size_t horizon = 7;
    for (std::size_t t = 0; t < 12; ++t) {
      const Vector future = normals(rng, horizon * options.inputs);
      Vector d_hat(horizon * layout.n_d);
      look_ahead(*differentiator, future, d_hat);
      const auto stepping = differentiator->clone();
      for (std::size_t k = 0; k < horizon; ++k) {
        const auto x = std::span(future).subspan(k * options.inputs, options.inputs);
        EXPECT_TRUE(same_bits(std::span(d_hat).subspan(k * layout.n_d, layout.n_d),
                              stepping->forward(theta.data(), x)));
        stepping->commit(theta.data());
      }
      differentiator->forward(theta.data(), input());
      differentiator->commit(theta.data());
      if (t % 3 == 1) {
        change_weights();
        differentiator->weights_changed();
      }
    }
  });
}

TEST_P(Networks, ResetStartsANewStream) {
  for_both(options, [&](std::unique_ptr<Differentiator> used) {
    const auto fresh = used->clone();
    for (std::size_t t = 0; t < 6; ++t) {
      used->forward(theta.data(), input());
      used->commit(theta.data());
    }
    change_weights();
    used->weights_changed();
    used->reset();
    Vector H_fresh(H.size());
    for (std::size_t t = 0; t < 6; ++t) {
      const Vector x = input();
      EXPECT_TRUE(same_bits(used->forward(theta.data(), x), fresh->forward(theta.data(), x)));
      used->jacobian(theta.data(), H);
      fresh->jacobian(theta.data(), H_fresh);
      EXPECT_TRUE(same_bits(H, H_fresh));
      used->commit(theta.data());
      fresh->commit(theta.data());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Networks, testing::ValuesIn(networks()), name);
INSTANTIATE_TEST_SUITE_P(All, GatedNetworks, testing::ValuesIn(gated_networks()), name);

// Without memory a window is worth nothing, and costs nothing.
TEST(Tbptt, AFeedforwardNetworkHasNoPast) {
  NetworkOptions options = test::small_network(2, 3, 1);
  options.cell = Cell::feedforward;
  const ParameterLayout layout(options);
  Rng rng(4);
  const Vector theta = normals(rng, layout.size());
  const Vector x = normals(rng, 2);
  Tbptt tbptt(options);
  const Vector at_first = copy(tbptt.forward(theta.data(), x));
  for (int t = 0; t < 6; ++t) {
    tbptt.forward(theta.data(), normals(rng, 2));
    tbptt.commit(theta.data());
  }
  EXPECT_TRUE(same_bits(tbptt.forward(theta.data(), x), at_first));
}

// y = 0 is a fixed point of these weights, and an unstable one: ∂c/∂W grows by 40/4 + 1/2 a step
// until it overflows, while c and y stay 0. Ordinary weights must bring H back.
TEST(Rtrl, SensitivitiesRecoverFromOverflow) {
  NetworkOptions options = test::small_network(1, 1, 1);
  options.input_bias = options.output_bias = false;
  const ParameterLayout layout(options);
  Rtrl rtrl(options);
  Vector H(layout.size());
  Vector theta(layout.size());
  theta[layout.gate_row(ParameterLayout::z, 0) + 1] = 40;
  theta[layout.output_row(0)] = 1;
  for (int t = 0; t < 400; ++t) {
    ASSERT_EQ(rtrl.forward(theta.data(), Vector{1})[0], 0);
    rtrl.commit(theta.data());
  }
  Rng rng(3);
  theta = normals(rng, layout.size(), 0.3);
  rtrl.weights_changed();
  for (int t = 0; t < 100; ++t) {
    rtrl.forward(theta.data(), Vector{rng.normal()});
    rtrl.jacobian(theta.data(), H);
    rtrl.commit(theta.data());
  }
  for (const double h : H) EXPECT_TRUE(std::isfinite(h));
}

TEST(InitialWeights, GateBiasesAreSetAndNothingElse) {
  NetworkOptions plain = test::small_network(3, 4, 2);
  NetworkOptions biased = plain;
  biased.gate_bias = {.input = -0.5, .forget = 0.7, .output = 0.25};
  const ParameterLayout layout(plain);
  const Vector theta = initial_weights(plain, layout);
  const Vector theta_biased = initial_weights(biased, layout);
  Vector expected = theta;
  const std::size_t column = layout.n_x - 1;
  for (std::size_t unit = 0; unit < layout.n_s; ++unit) {
    expected[layout.gate_row(ParameterLayout::i, unit) + column] = -0.5;
    expected[layout.gate_row(ParameterLayout::f, unit) + column] = 0.7;
    expected[layout.gate_row(ParameterLayout::o, unit) + column] = 0.25;
  }
  EXPECT_TRUE(same_bits(theta_biased, expected));
}

TEST(InitialWeights, AGruHasAForgetGate) {
  NetworkOptions plain = test::small_network(3, 4, 2);
  plain.cell = Cell::gru;
  plain.gate_bias = {};
  NetworkOptions biased = plain;
  biased.gate_bias = {.input = -0.5, .forget = 0.7, .output = 0.25};
  const ParameterLayout layout(plain);
  Vector expected = initial_weights(plain, layout);
  for (std::size_t unit = 0; unit < layout.n_s; ++unit)
    expected[layout.gate_row(ParameterLayout::gru_f, unit) + layout.n_x - 1] = 0.7;
  EXPECT_TRUE(same_bits(initial_weights(biased, layout), expected));
}

TEST(InitialWeights, OtherCellsHaveNoGateBiases) {
  for (const Cell cell : {Cell::simple, Cell::feedforward}) {
    NetworkOptions plain = test::small_network(3, 4, 2);
    plain.cell = cell;
    plain.gate_bias = {};
    NetworkOptions biased = plain;
    biased.gate_bias = {.input = -0.5, .forget = 0.7, .output = 0.25};
    const ParameterLayout layout(plain);
    EXPECT_TRUE(same_bits(initial_weights(biased, layout), initial_weights(plain, layout)));
  }
}

TEST(InitialWeights, HaveTheDeviationAskedFor) {
  NetworkOptions network = test::small_network(20, 30, 1);
  network.weight_deviation = 0.25;
  network.gate_bias = {};
  const Vector theta = initial_weights(network, ParameterLayout(network));
  double sum_sq = 0;
  for (const double w : theta) sum_sq += w * w;
  const auto n = static_cast<double>(theta.size());
  EXPECT_NEAR(sum_sq / n, 0.0625, 5 * 0.0625 * std::sqrt(2 / n));
}

}  // namespace
}  // namespace kalstream
