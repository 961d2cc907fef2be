// Series to predict from their own past: chaos, and a sine that changes its mind.
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <numbers>
#include <utility>

#include "data/generators/stream.h"

namespace kalstream::generator {
namespace {

// How a series is scaled: inputs by its standard deviation, targets by a range it hardly leaves.
struct SeriesScale {
  double centre;
  double deviation;
  double half_range;
};

// Predict a series from its own past: inputs y(t), y(t−1), …, y(t−lags+1), target y(t+ahead), where
// y is the series plus measurement noise.
Stream forecast(const Settings& settings, SeriesScale scale, std::function<double(Rng&)> series) {
  const std::size_t lags = settings.count("lags");
  const std::size_t ahead = settings.count("ahead");
  const double noise = settings.number("noise") * scale.deviation;
  std::vector<std::string> names = {"y[t]"};
  for (std::size_t i = 1; i < lags; ++i) names.push_back("y[t-" + std::to_string(i) + "]");

  auto observe = [=, series = std::move(series), rng = settings.rng()]() mutable {
    const double value = series(rng);
    return value + noise * rng.normal();
  };
  std::deque<double> window;
  while (window.size() < lags + ahead) window.push_back(observe());
  return {names, "y[t+" + std::to_string(ahead) + "]", [=](std::span<double> x) mutable {
            for (std::size_t i = 0; i < lags; ++i)
              x[i] = (window[lags - 1 - i] - scale.centre) / scale.deviation;
            const double target = target_of(window.back(), scale.centre, scale.half_range);
            window.pop_front();
            window.push_back(observe());
            return target;
          }};
}

// One step of the classical Runge–Kutta method for ẋ = f(x, c), c the fraction 0, ½ or 1 of the
// step that has passed: x + h/6 (k₁ + 2k₂ + 2k₃ + k₄).
template <std::size_t n, class F>
std::array<double, n> runge_kutta(const std::array<double, n>& x, double h, F f) {
  const auto plus = [&](double step, const std::array<double, n>& k) {
    std::array<double, n> moved = x;
    for (std::size_t i = 0; i < n; ++i) moved[i] += step * k[i];
    return moved;
  };
  const auto k1 = f(x, 0);
  const auto k2 = f(plus(h / 2, k1), 0.5);
  const auto k3 = f(plus(h / 2, k2), 0.5);
  const auto k4 = f(plus(h, k3), 1);
  std::array<double, n> k;
  for (std::size_t i = 0; i < n; ++i) k[i] = (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
  return plus(h, k);
}

double power(double base, std::size_t exponent) {
  double result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

// ẋ(t) = β x(t−τ) / (1 + x(t−τ)ⁿ) − γ x(t), sampled at unit time.
class MackeyGlass {
 public:
  explicit MackeyGlass(const Settings& settings)
      : tau_(settings.count("tau")),
        n_(settings.count("n")),
        beta_(settings.number("beta")),
        gamma_(settings.number("gamma")) {}

  double operator()(Rng& rng) {
    if (past_.empty()) start(rng);
    return sample();
  }

 private:
  static constexpr std::size_t steps = 10;  // per unit of time
  static constexpr std::size_t transient = 500;

  void start(Rng& rng) {
    past_.assign(steps * tau_ + 2, rng.uniform(0.5, 1.3));
    for (std::size_t t = 0; t < transient; ++t) sample();
  }

  double sample() {
    for (std::size_t k = 0; k < steps; ++k) {
      const std::array<double, 1> x = {past_.back()};
      past_.push_back(runge_kutta(x, 1.0 / steps, [&](const auto& now, double c) {
        const double late = delayed(c);
        return std::array{beta_ * late / (1 + power(late, n_)) - gamma_ * now[0]};
      })[0]);
      past_.pop_front();
    }
    return past_.back();
  }

  // x(t − τ + c h), between the grid's points by the cubic through its four neighbours.
  double delayed(double c) const {
    if (c == 0) return past_[1];
    if (c == 1) return past_[2];
    return (9 * (past_[1] + past_[2]) - past_[0] - past_[3]) / 16;
  }

  std::size_t tau_;
  std::size_t n_;
  double beta_;
  double gamma_;
  std::deque<double> past_;  // x(t − τ − h), x(t − τ), …, x(t), h = 1/steps
};

// ẋ = 10(y − x);  ẏ = x(28 − z) − y;  ż = xy − 8z/3;  x sampled every 0.05.
class Lorenz {
 public:
  double operator()(Rng& rng) {
    if (state_[0] == 0) start(rng);
    return sample();
  }

 private:
  static constexpr std::size_t steps = 10;  // per sample
  static constexpr double h = 0.005;
  static constexpr std::size_t transient = 500;

  void start(Rng& rng) {
    state_ = {rng.uniform(1, 10), rng.uniform(1, 10), rng.uniform(15, 30)};
    for (std::size_t t = 0; t < transient; ++t) sample();
  }

  double sample() {
    for (std::size_t k = 0; k < steps; ++k)
      state_ = runge_kutta(state_, h, [](const std::array<double, 3>& s, double) {
        const auto [x, y, z] = s;
        return std::array{10 * (y - x), x * (28 - z) - y, x * y - 8 * z / 3};
      });
    return state_[0];
  }

  std::array<double, 3> state_{};
};

// y = sin φ;  φ ← φ + ω;  with probability 1/period a new ω ~ U(0.1, 0.8).
Stream switching_sine(const Settings& settings) {
  const double period = settings.number("period");
  const auto frequency = [](Rng& rng) { return rng.uniform(0.1, 0.8); };
  return forecast(settings, {0, std::sqrt(0.5), 1.4},
                  [=, phi = 0.0, omega = 0.0](Rng& rng) mutable {
                    if (omega == 0 || rng.uniform() < 1 / period) omega = frequency(rng);
                    phi = std::fmod(phi + omega, 2 * std::numbers::pi);
                    return std::sin(phi);
                  });
}

// What mackey-glass, lorenz and sine have in common.
std::vector<GeneratorParameter> series_parameters(double ahead, double noise,
                                                  std::vector<GeneratorParameter> own = {}) {
  own.push_back(whole({1, 1000}, "lags", 1, "inputs: the present value and lags − 1 before it"));
  own.push_back(whole({1, 1000}, "ahead", ahead, "how many steps on the target lies"));
  own.push_back(real({0, 10}, "noise", noise, "measurement noise, in deviations of the series"));
  return own;
}

}  // namespace

Generator mackey_glass() {
  return {
      {"mackey-glass",
       "chaotic delay equation; memory matters: the present value alone does not tell the phase",
       series_parameters(6, 0,
                         {whole({2, 100}, "tau", 17, "delay"),
                          real({0, 1}, "beta", 0.2, "gain of the delayed feedback"),
                          real({0.01, 1}, "gamma", 0.1, "decay"),
                          whole({1, 20}, "n", 10, "exponent of the feedback")})},
      [](const Settings& settings) {
        return forecast(settings, {0.93, 0.23, 0.8}, MackeyGlass(settings));
      }};
}

Generator lorenz() {
  return {{"lorenz",
           "x-coordinate of the Lorenz system every 0.05; y and z must be inferred from the past",
           series_parameters(2, 0)},
          [](const Settings& settings) {
            return forecast(settings, {0, 7.9, 22}, Lorenz());
          }};
}

Generator sine() {
  return {
      {"sine", "noisy sine whose frequency switches; the present value does not tell the slope",
       series_parameters(1, 0.1, {real({1, 1e9}, "period", 500, "mean rows between frequencies")})},
      switching_sine};
}

}  // namespace kalstream::generator
