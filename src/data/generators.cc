#include "data/generators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <numbers>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/rng.h"
#include "data/robots.h"

namespace kalstream {
namespace {

using std::numbers::pi;
using std::numbers::sqrt3;  // 1 / standard deviation of U(−1, 1)

// ---- Specs -------------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

// "a, b, c" of what `text` makes of the items.
template <class Items, class Text>
std::string listed(const Items& items, Text text, const char* separator = ", ") {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : separator) + std::string(text(item));
  return list;
}

// The shortest text that reads back as v.
std::string text_of(double v) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), end};
}

double number_of(std::string_view text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() ? v : std::nan("");
}

bool permits(const GeneratorParameter& p, const std::string& value) {
  if (!p.words.empty()) return std::find(p.words.begin(), p.words.end(), value) != p.words.end();
  const double v = number_of(value);
  return v >= p.low && v <= p.high && (!p.whole || v == std::floor(v));
}

// A spec's values, checked and complete.
class Settings {
 public:
  Settings(const GeneratorInfo& info, std::string_view query) {
    while (!query.empty()) {
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(pair.size() + 1, query.size()));
      set(info, pair);
    }
    for (const auto& p : info.parameters) values_.emplace(p.key, p.fallback);
  }

  const std::string& word(const char* key) const { return values_.at(key); }
  double number(const char* key) const { return number_of(word(key)); }
  std::size_t count(const char* key) const { return static_cast<std::size_t>(number(key)); }
  Rng rng() const { return Rng(static_cast<std::uint64_t>(number("seed"))); }

 private:
  void set(const GeneratorInfo& info, std::string_view pair) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string key(pair.substr(0, equals));
    const std::string value(pair.substr(std::min(equals + 1, pair.size())));
    const auto p = std::find_if(info.parameters.begin(), info.parameters.end(),
                                [&](const auto& candidate) { return candidate.key == key; });
    if (p == info.parameters.end()) {
      fail("generator " + info.name + " has no key '" + key + "'; its keys are " +
           listed(info.parameters, [](const auto& known) { return known.key; }));
    }
    if (!permits(*p, value)) {
      fail("generator " + info.name + ": " + key + "='" + value + "' is not " + p->permitted());
    }
    if (!values_.emplace(key, value).second) {
      fail("generator " + info.name + ": key '" + key + "' is given twice");
    }
  }

  std::map<std::string, std::string> values_;
};

GeneratorParameter choice(std::vector<std::string> words, std::string key, std::string fallback,
                          std::string meaning) {
  return {.key = std::move(key),
          .fallback = std::move(fallback),
          .meaning = std::move(meaning),
          .words = std::move(words)};
}

struct Range {
  double low;
  double high;
};

GeneratorParameter real(Range range, std::string key, double fallback, std::string meaning) {
  return {.key = std::move(key),
          .fallback = text_of(fallback),
          .meaning = std::move(meaning),
          .low = range.low,
          .high = range.high};
}

GeneratorParameter whole(Range range, std::string key, double fallback, std::string meaning) {
  GeneratorParameter p = real(range, std::move(key), fallback, std::move(meaning));
  p.whole = true;
  return p;
}

// ---- Streams -----------------------------------------------------------------------------------

// next(x) fills the inputs of one more row and returns its target.
struct Stream {
  std::vector<std::string> input_names;
  std::string target_name;
  std::function<double(std::span<double>)> next;
};

constexpr double target_limit = 0.8;

// Maps centre ± half_range to ±0.8 and clips beyond.
double target_of(double value, double centre, double half_range) {
  const double d = target_limit * (value - centre) / half_range;
  return std::clamp(d, -target_limit, target_limit);
}

// base1, base2, …
void append_numbered(std::vector<std::string>& names, const std::string& base, std::size_t count) {
  for (std::size_t i = 1; i <= count; ++i) names.push_back(base + std::to_string(i));
}

std::vector<std::string> numbered(const std::string& base, std::size_t count) {
  std::vector<std::string> names;
  append_numbered(names, base, count);
  return names;
}

// s = c + Σ bits;  d = ½ if s is odd, otherwise −½;  c ← ⌊s/2⌋.
Stream addition(const Settings& settings) {
  return {numbered("bit", settings.count("n")), "sum",
          [rng = settings.rng(), carry = std::uint64_t{0}](std::span<double> x) mutable {
            std::uint64_t s = carry;
            for (double& bit : x) {
              const std::uint64_t b = rng.below(2);
              bit = static_cast<double>(b);
              s += b;
            }
            carry = s / 2;
            return s % 2 == 1 ? 0.5 : -0.5;
          }};
}

// Mean and standard deviation of a noiseless target, from a million draws.
struct Moments {
  double mean;
  double deviation;
};

// Adds noise that makes up `share` of the target's variance (the least NSE that can be reached)
// and maps mean ± 3 standard deviations of the sum to ±0.8.
class NoisyTarget {
 public:
  NoisyTarget(Moments clean, double share)
      : mean_(clean.mean),
        noise_(clean.deviation * std::sqrt(share / (1 - share))),
        half_range_(3 * clean.deviation / std::sqrt(1 - share)) {}

  double operator()(double clean, Rng& rng) const {
    return target_of(clean + noise_ * rng.normal(), mean_, half_range_);
  }

 private:
  double mean_;
  double noise_;
  double half_range_;
};

// An arm whose 8 angles, and in the 32-input form twists, lengths and offsets, are drawn anew for
// every row. draw(x) fills x and returns the end point's distance from (0.1, 0.1, 0.1).
struct KinArm {
  static constexpr std::size_t links = 8;
  static constexpr double length = 0.1;  // of a and d, where they are not 0

  bool fixed_geometry;
  double angle;  // θ ~ U(±angle)
  double twist;  // α ∈ {−twist, 0, twist}

  double draw(Rng& rng, std::span<double> x) const {
    std::array<DhLink, links> chain = nominal();
    for (std::size_t i = 0; i < links; ++i) {
      const double u = rng.uniform(-1, 1);
      chain[i].theta = angle * u;
      x[i] = sqrt3 * u;
    }
    if (!fixed_geometry) draw_geometry(rng, chain, x.subspan(links));
    const Vec3 p = end_point(chain);
    return std::hypot(p.x - 0.1, p.y - 0.1, p.z - 0.1);
  }

 private:
  // Found by random search: among 3,000 arms, one whose linear NSE is kin8nm's and whose distances
  // agree well with kin8nm's (correlation 0.57, without any fitting).
  static std::array<DhLink, links> nominal() {
    constexpr double l = length;
    constexpr double right = pi / 2;
    return {{{.d = 0, .a = 0, .alpha = right},
             {.d = l, .a = l, .alpha = 0},
             {.d = l, .a = 0, .alpha = -right},
             {.d = l, .a = 0, .alpha = right},
             {.d = l, .a = l, .alpha = -right},
             {.d = 0, .a = l, .alpha = 0},
             {.d = 0, .a = l, .alpha = right},
             {.d = l, .a = l, .alpha = 0}}};
  }

  void draw_geometry(Rng& rng, std::array<DhLink, links>& chain, std::span<double> x) const {
    for (std::size_t i = 0; i < links; ++i) {
      const double side = static_cast<double>(rng.below(3)) - 1;
      chain[i].alpha = twist * side;
      x[i] = side / std::sqrt(2.0 / 3);
      chain[i].a = draw_length(rng, 0.3, x[links + i]);
      chain[i].d = draw_length(rng, 0.5, x[2 * links + i]);
    }
  }

  // l = 0 with probability p0, otherwise length·U(0.95, 1.05); with v = l/length
  // E v = 1 − p0,  E v² = (1 − p0)(1 + 0.05²/3).
  static double draw_length(Rng& rng, double p0, double& input) {
    const bool present = rng.uniform() >= p0;
    const double v = present ? rng.uniform(0.95, 1.05) : 0;
    const double mean = 1 - p0;
    input = (v - mean) / std::sqrt(mean * (1 + 0.05 * 0.05 / 3) - mean * mean);
    return length * v;
  }
};

bool is(const Settings& settings, const char* key, const char* word) {
  return settings.word(key) == word;
}

// Robots come in four forms: 8 or 32 inputs, fairly linear or not.
struct RobotMoments {
  Moments fairly_linear_8;
  Moments non_linear_8;
  Moments fairly_linear_32;
  Moments non_linear_32;

  Moments of(const Settings& settings) const {
    const bool f = is(settings, "dynamics", "f");
    if (is(settings, "inputs", "8")) return f ? fairly_linear_8 : non_linear_8;
    return f ? fairly_linear_32 : non_linear_32;
  }
};

constexpr RobotMoments kin_moments = {
    {0.614, 0.1040}, {0.506, 0.1602}, {0.557, 0.1318}, {0.416, 0.1487}};
constexpr RobotMoments puma_moments = {{2.85, 3.44}, {1.25, 5.47}, {0, 0.01232}, {0, 0.00956}};
constexpr RobotMoments puma_friction_moments = {
    {2.36, 9.28}, {0.71, 13.06}, {1.29, 3.49}, {1.29, 4.23}};

KinArm kin_arm(const Settings& settings) {
  const bool fixed_geometry = is(settings, "inputs", "8");
  const double share = is(settings, "dynamics", "n") ? 1 : fixed_geometry ? 0.4 : 0.3;
  return {fixed_geometry, share * pi / 2, share * pi / 2};
}

Stream kin_like(const Settings& settings) {
  const KinArm arm = kin_arm(settings);
  std::vector<std::string> names = numbered("theta", KinArm::links);
  if (!arm.fixed_geometry)
    for (const char* base : {"alpha", "a", "d"}) append_numbered(names, base, KinArm::links);
  const NoisyTarget target(kin_moments.of(settings), is(settings, "noise", "m") ? 0.05 : 0.35);
  return {names, "distance", [=, rng = settings.rng()](std::span<double> x) mutable {
            return target(arm.draw(rng, x), rng);
          }};
}

// A Puma 560 in a random state under random torques; the joints behind the first `joints` rest at
// 0 without torque, as does the last of them. In the 32-input form (6 joints) masses, lengths and
// viscous friction of all links but the last vary too. draw(x) fills x and returns the last
// joint's acceleration.
struct PumaArm {
  Arm arm;
  std::size_t joints;  // 3 or 6
  double range;        // q, q̇ ~ U(±range), in rad and rad/s
  double torque;       // τ ~ U(±torque), in N m

  bool varied() const { return joints == arm_joints; }

  double draw(Rng& rng, std::span<double> x) const {
    auto next = [&, i = std::size_t{0}]() mutable {
      const double u = rng.uniform(-1, 1);
      x[i++] = sqrt3 * u;
      return u;
    };
    ArmState state;
    Joints tau{};
    for (std::size_t i = 0; i < joints; ++i) state.q[i] = range * next();
    for (std::size_t i = 0; i < joints; ++i) state.qd[i] = range * next();
    for (std::size_t i = 0; i + 1 < joints; ++i) tau[i] = torque * next();
    Arm actual = arm;
    if (varied()) {
      const auto vary = [&](double& value) { value *= 1.375 + 1.125 * next(); };  // U(0.25, 2.5)
      const auto links = std::span(actual.links).first(joints - 1);
      for (ArmLink& link : links) vary(link.m);
      for (ArmLink& link : links) vary(link.dh.a);
      for (ArmLink& link : links) vary(link.drive.viscous);
    }
    return forward_dynamics(actual, state, tau)[joints - 1];
  }
};

PumaArm puma_arm(const Settings& settings) {
  const Arm arm = is(settings, "friction", "on") ? puma560() : without_friction(puma560());
  const bool fairly_linear = is(settings, "dynamics", "f");
  if (is(settings, "inputs", "8")) return {arm, 3, (fairly_linear ? 0.2 : 0.6) * pi, 6};
  return {arm, 6, (fairly_linear ? 0.35 : 0.75) * pi, 24};
}

// Without friction, which is therefore off unless asked for, this model explains 96–97 % of the
// variance of DELVE's puma8nm and puma32fm from their inputs; the rest is taken for noise.
// With friction it explains 18 % and 0 %.
Stream puma_like(const Settings& settings) {
  const PumaArm arm = puma_arm(settings);
  std::vector<std::string> names = numbered("theta", arm.joints);
  append_numbered(names, "velocity", arm.joints);
  append_numbered(names, "torque", arm.joints - 1);
  if (arm.varied())
    for (const char* base : {"mass", "length", "viscous"})
      append_numbered(names, base, arm.joints - 1);
  const auto& moments = is(settings, "friction", "on") ? puma_friction_moments : puma_moments;
  const NoisyTarget target(moments.of(settings), is(settings, "noise", "m") ? 0.03 : 0.3);
  return {names, "acceleration" + std::to_string(arm.joints),
          [=, rng = settings.rng()](std::span<double> x) mutable {
            return target(arm.draw(rng, x), rng);
          }};
}

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

Stream mackey_glass(const Settings& settings) {
  return forecast(settings, {0.93, 0.23, 0.8}, MackeyGlass(settings));
}

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
    for (std::size_t k = 0; k < steps; ++k) {
      state_ = runge_kutta(state_, h, [](const std::array<double, 3>& s, double) {
        const auto [x, y, z] = s;
        return std::array{10 * (y - x), x * (28 - z) - y, x * y - 8 * z / 3};
      });
    }
    return state_[0];
  }

  std::array<double, 3> state_{};
};

Stream lorenz(const Settings& settings) { return forecast(settings, {0, 7.9, 22}, Lorenz()); }

// y = sin φ;  φ ← φ + ω;  with probability 1/period a new ω ~ U(0.1, 0.8).
Stream sine(const Settings& settings) {
  const double period = settings.number("period");
  const auto frequency = [](Rng& rng) { return rng.uniform(0.1, 0.8); };
  return forecast(settings, {0, std::sqrt(0.5), 1.4},
                  [=, phi = 0.0, omega = 0.0](Rng& rng) mutable {
                    if (omega == 0 || rng.uniform() < 1 / period) omega = frequency(rng);
                    phi = std::fmod(phi + omega, 2 * pi);
                    return std::sin(phi);
                  });
}

// y(t+1) = 0.3 y(t) + 0.05 y(t) Σ_{i<10} y(t−i) + 1.5 u(t−9) u(t) + 0.1,  u ~ U(0, ½).
// Beyond y ≈ 1.02 it can run away; y ≤ 1 keeps the endless stream finite and is hardly ever active.
Stream narma10(const Settings& settings) {
  constexpr std::size_t order = 10;
  return {{"u"},
          "y",
          [rng = settings.rng(), u = std::deque<double>(order),
           y = std::deque<double>(order)](std::span<double> x) mutable {
            u.pop_front();
            u.push_back(rng.uniform(0, 0.5));
            double sum = 0;
            for (double value : y) sum += value;
            const double next =
                0.3 * y.back() + 0.05 * y.back() * sum + 1.5 * u.front() * u.back() + 0.1;
            y.pop_front();
            y.push_back(std::min(next, 1.0));
            x[0] = sqrt3 * (u.back() - 0.25) / 0.25;
            return target_of(y.back(), 0.4, 0.5);
          }};
}

// Friedman #1 on inputs x ~ U(0, 1)¹⁰, their roles moved on by `shift`:
// f = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅.
double friedman1(const std::array<double, 10>& x, std::size_t shift) {
  const auto at = [&](std::size_t i) { return x[(i - 1 + shift) % x.size()]; };
  const double bend = at(3) - 0.5;
  return 10 * std::sin(pi * at(1) * at(2)) + 20 * bend * bend + 10 * at(4) + 5 * at(5);
}

// d = (1 − w) f_k + w f_{k+1} + noise, k = ⌊t/period⌋; w = 0, or t/period − k if the drift is
// gradual; k stays 0 without drift.
Stream friedman(const Settings& settings) {
  const bool drifts = !is(settings, "drift", "none");
  const bool gradual = is(settings, "drift", "gradual");
  const std::size_t period = settings.count("period");
  const double noise = settings.number("noise");
  return {numbered("x", 10), "y",
          [=, rng = settings.rng(), t = std::size_t{0}](std::span<double> inputs) mutable {
            std::array<double, 10> x;
            for (std::size_t i = 0; i < x.size(); ++i) {
              x[i] = rng.uniform();
              inputs[i] = 2 * sqrt3 * (x[i] - 0.5);
            }
            const std::size_t k = drifts ? t / period : 0;
            const double w =
                gradual ? static_cast<double>(t % period) / static_cast<double>(period) : 0;
            ++t;
            const double f = (1 - w) * friedman1(x, k) + w * friedman1(x, k + 1);
            return target_of(f + noise * rng.normal(), 14.4, 16);
          }};
}

// ---- Registry ----------------------------------------------------------------------------------

struct Generator {
  GeneratorInfo info;
  Stream (*stream)(const Settings&);
};

// What mackey-glass, lorenz and sine have in common.
std::vector<GeneratorParameter> series_parameters(double ahead, double noise,
                                                  std::vector<GeneratorParameter> own = {}) {
  own.push_back(whole({1, 1000}, "lags", 1, "inputs: the present value and lags − 1 before it"));
  own.push_back(whole({1, 1000}, "ahead", ahead, "how many steps on the target lies"));
  own.push_back(real({0, 10}, "noise", noise, "measurement noise, in deviations of the series"));
  return own;
}

std::vector<GeneratorParameter> robot_parameters(const char* form,
                                                 std::vector<GeneratorParameter> more = {}) {
  std::vector<GeneratorParameter> parameters = {
      choice({"8", "32"}, "inputs", "8", form),
      choice({"f", "n"}, "dynamics", "n",
             "f: fairly linear, a small range of motion; n: non-linear"),
      choice({"m", "h"}, "noise", "m", "m: medium, h: high")};
  parameters.insert(parameters.end(), more.begin(), more.end());
  return parameters;
}

std::vector<Generator> all_generators() {
  std::vector<Generator> all = {
      {{"addition",
        "sum of n binary numbers, bit after bit; the carry must be remembered",
        {whole({2, 16}, "n", 3, "numbers to add")}},
       addition},
      {{"kin-like", "forward kinematics of an 8-link arm: distance of its end from a point",
        robot_parameters("8: angles; 32: angles, twists, lengths and offsets")},
       kin_like},
      {{"puma-like", "forward dynamics of a Puma 560 arm: acceleration of joint 3 or 6",
        robot_parameters(
            "8: 3 angles, 3 velocities, 2 torques; 32: 6, 6, 5 and 15 multipliers of link data",
            {choice({"off", "on"}, "friction", "off",
                    "viscous and Coulomb friction of the joints")})},
       puma_like},
      {{"mackey-glass",
        "chaotic delay equation; memory matters: the present value alone does not tell the phase",
        series_parameters(6, 0,
                          {whole({2, 100}, "tau", 17, "delay"),
                           real({0, 1}, "beta", 0.2, "gain of the delayed feedback"),
                           real({0.01, 1}, "gamma", 0.1, "decay"),
                           whole({1, 20}, "n", 10, "exponent of the feedback")})},
       mackey_glass},
      {{"narma10",
        "non-linear moving average of order 10, driven by noise: ten steps of memory",
        {}},
       narma10},
      {{"lorenz",
        "x-coordinate of the Lorenz system every 0.05; y and z must be inferred from the past",
        series_parameters(2, 0)},
       lorenz},
      {{"friedman",
        "Friedman's function #1, 5 of 10 inputs matter; which ones may drift",
        {choice({"none", "abrupt", "gradual"}, "drift", "none",
                "roles move on by one input every period, at once or all along"),
         whole({1, 1e9}, "period", 1000, "rows between drifts"),
         real({0, 100}, "noise", 1, "deviation of the noise (the function's is 4.9)")}},
       friedman},
      {{"sine", "noisy sine whose frequency switches; the present value does not tell the slope",
        series_parameters(1, 0.1,
                          {real({1, 1e9}, "period", 500, "mean rows between frequencies")})},
       sine},
  };
  for (auto& generator : all)
    generator.info.parameters.push_back(whole({0, 1e15}, "seed", 1, "start of the random numbers"));
  return all;
}

const std::vector<Generator>& registry() {
  static const std::vector<Generator> all = all_generators();
  return all;
}

const Generator& find(std::string_view name) {
  for (const auto& generator : registry())
    if (generator.info.name == name) return generator;
  fail("unknown generator '" + std::string(name) + "'; the generators are " +
       listed(registry(), [](const auto& known) { return known.info.name; }));
}

}  // namespace

std::string GeneratorParameter::permitted() const {
  if (!words.empty()) return listed(words, std::identity(), "|");
  return (whole ? "a whole number in " : "a number in ") + text_of(low) + ".." + text_of(high);
}

const std::vector<GeneratorInfo>& generators() {
  static const std::vector<GeneratorInfo> infos = [] {
    std::vector<GeneratorInfo> all;
    for (const auto& generator : registry()) all.push_back(generator.info);
    return all;
  }();
  return infos;
}

Dataset generate(std::string_view spec, std::size_t rows) {
  const std::size_t mark = std::min(spec.find('?'), spec.size());
  const Generator& generator = find(spec.substr(0, mark));
  const Settings settings(generator.info, spec.substr(std::min(mark + 1, spec.size())));
  Stream stream = generator.stream(settings);

  Dataset data;
  data.name = generator.info.name;
  data.source = "gen:" + std::string(spec);
  data.input_names = stream.input_names;
  data.target_names = {stream.target_name};
  data.inputs.resize(rows * data.n_inputs());
  data.targets.resize(rows);
  for (std::size_t row = 0; row < rows; ++row)
    data.targets[row] =
        stream.next(std::span(data.inputs).subspan(row * data.n_inputs(), data.n_inputs()));
  return data;
}

}  // namespace kalstream
