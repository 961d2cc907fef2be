// Robot arms: where one reaches (after DELVE's kin family) and how one moves (after its puma
// family).
#include <array>
#include <cmath>
#include <numbers>

#include "data/generators/robots.h"
#include "data/generators/stream.h"

namespace kalstream::generator {
namespace {

using std::numbers::pi;
using std::numbers::sqrt3;  // 1 / standard deviation of U(−1, 1)

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

// Robots come in four forms: 8 or 32 inputs, fairly linear or not.
struct RobotMoments {
  Moments fairly_linear_8;
  Moments non_linear_8;
  Moments fairly_linear_32;
  Moments non_linear_32;

  Moments of(const Settings& settings) const {
    const bool f = settings.is("dynamics", "f");
    if (settings.is("inputs", "8")) return f ? fairly_linear_8 : non_linear_8;
    return f ? fairly_linear_32 : non_linear_32;
  }
};

constexpr RobotMoments kin_moments = {
    {0.614, 0.1040}, {0.506, 0.1602}, {0.557, 0.1318}, {0.416, 0.1487}};
constexpr RobotMoments puma_moments = {{2.85, 3.44}, {1.25, 5.47}, {0, 0.01232}, {0, 0.00956}};
constexpr RobotMoments puma_friction_moments = {
    {2.36, 9.28}, {0.71, 13.06}, {1.29, 3.49}, {1.29, 4.23}};

KinArm kin_arm(const Settings& settings) {
  const bool fixed_geometry = settings.is("inputs", "8");
  const double share = settings.is("dynamics", "n") ? 1 : fixed_geometry ? 0.4 : 0.3;
  return {fixed_geometry, share * pi / 2, share * pi / 2};
}

Stream reach(const Settings& settings) {
  const KinArm arm = kin_arm(settings);
  std::vector<std::string> names = numbered("theta", KinArm::links);
  if (!arm.fixed_geometry)
    for (const char* base : {"alpha", "a", "d"}) append_numbered(names, base, KinArm::links);
  const NoisyTarget target(kin_moments.of(settings), settings.is("noise", "m") ? 0.05 : 0.35);
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
  const Arm arm = settings.is("friction", "on") ? puma560() : without_friction(puma560());
  const bool fairly_linear = settings.is("dynamics", "f");
  if (settings.is("inputs", "8")) return {arm, 3, (fairly_linear ? 0.2 : 0.6) * pi, 6};
  return {arm, 6, (fairly_linear ? 0.35 : 0.75) * pi, 24};
}

// Without friction, which is therefore off unless asked for, this model explains 96–97 % of the
// variance of DELVE's puma8nm and puma32fm from their inputs; the rest is taken for noise.
// With friction it explains 18 % and 0 %.
Stream acceleration(const Settings& settings) {
  const PumaArm arm = puma_arm(settings);
  std::vector<std::string> names = numbered("theta", arm.joints);
  append_numbered(names, "velocity", arm.joints);
  append_numbered(names, "torque", arm.joints - 1);
  if (arm.varied())
    for (const char* base : {"mass", "length", "viscous"})
      append_numbered(names, base, arm.joints - 1);
  const auto& moments = settings.is("friction", "on") ? puma_friction_moments : puma_moments;
  const NoisyTarget target(moments.of(settings), settings.is("noise", "m") ? 0.03 : 0.3);
  return {names, "acceleration" + std::to_string(arm.joints),
          [=, rng = settings.rng()](std::span<double> x) mutable {
            return target(arm.draw(rng, x), rng);
          }};
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

}  // namespace

Generator kin_like() {
  return {{"kin-like", "forward kinematics of an 8-link arm: distance of its end from a point",
           robot_parameters("8: angles; 32: angles, twists, lengths and offsets")},
          reach};
}

Generator puma_like() {
  return {{"puma-like", "forward dynamics of a Puma 560 arm: acceleration of joint 3 or 6",
           robot_parameters(
               "8: 3 angles, 3 velocities, 2 torques; 32: 6, 6, 5 and 15 multipliers of link data",
               {choice({"off", "on"}, "friction", "off",
                       "viscous and Coulomb friction of the joints")})},
          acceleration};
}

}  // namespace kalstream::generator
