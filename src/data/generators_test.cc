#include "data/generators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/rng.h"
#include "data/generators/robots.h"
#include "support.h"

namespace kalstream {
namespace {

// ---- Tools -------------------------------------------------------------------------------------

// Every generator with its defaults, and the forms that take another path.
std::vector<std::string> all_specs() {
  std::vector<std::string> specs = {"addition?n=16",
                                    "kin-like?inputs=32",
                                    "kin-like?dynamics=f&noise=h",
                                    "kin-like?inputs=32&dynamics=f&noise=h",
                                    "puma-like?inputs=32",
                                    "puma-like?inputs=32&dynamics=f&friction=on",
                                    "puma-like?dynamics=f&noise=h&friction=on",
                                    "mackey-glass?tau=30&noise=0.2&lags=3",
                                    "lorenz?lags=4&ahead=1&noise=0.1",
                                    "friedman?drift=abrupt&period=40",
                                    "friedman?drift=gradual&period=40",
                                    "friedman?inputs=50",
                                    "sine?period=20&lags=2"};
  for (const auto& info : generators()) specs.push_back(info.name);
  return specs;
}

std::string with_seed(const std::string& spec, int seed) {
  return spec + (spec.find('?') == std::string::npos ? "?" : "&") + "seed=" + std::to_string(seed);
}

std::string message_of(const std::string& spec) {
  try {
    generate(spec, 1);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

// Least squares on the inputs and a constant: Σ(d − wᵀx)² / Σ(d − d̄)².
double linear_nse(const Dataset& data) {
  const auto row = [&](std::size_t t) {
    std::vector<double> x(data.x(t).begin(), data.x(t).end());
    x.push_back(1);
    return x;
  };
  test::LeastSquares fit(data.n_inputs() + 1);
  double mean = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    fit.add(row(t), data.d(t)[0]);
    mean += data.d(t)[0] / static_cast<double>(data.rows());
  }
  const auto w = fit.solve();
  double squares = 0;
  double variance = 0;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const auto x = row(t);
    squares += std::pow(data.d(t)[0] - std::inner_product(w.begin(), w.end(), x.begin(), 0.0), 2);
    variance += std::pow(data.d(t)[0] - mean, 2);
  }
  return squares / variance;
}

double linear_nse(const std::string& spec, std::size_t rows = 4000) {
  return linear_nse(generate(spec, rows));
}

std::vector<double> first(const std::vector<double>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

// ---- Every stream ------------------------------------------------------------------------------

TEST(Generators, GiveTheSameRowsForTheSameSeedAndOthersForAnother) {
  for (const auto& spec : all_specs()) {
    const Dataset a = generate(with_seed(spec, 5), 60);
    const Dataset b = generate(with_seed(spec, 5), 60);
    const Dataset c = generate(with_seed(spec, 6), 60);
    EXPECT_EQ(a.inputs, b.inputs) << spec;
    EXPECT_EQ(a.targets, b.targets) << spec;
    EXPECT_NE(a.inputs, c.inputs) << spec;
    EXPECT_NE(a.targets, c.targets) << spec;
    EXPECT_EQ(generate(spec, 60).inputs, generate(with_seed(spec, 1), 60).inputs) << spec;
  }
}

TEST(Generators, ALongRunBeginsLikeAShortOne) {
  for (const auto& spec : all_specs()) {
    const Dataset brief = generate(spec, 37);
    const Dataset longer = generate(spec, 120);
    EXPECT_EQ(brief.inputs, first(longer.inputs, brief.inputs.size())) << spec;
    EXPECT_EQ(brief.targets, first(longer.targets, brief.targets.size())) << spec;
  }
}

TEST(Generators, DescribeTheirRows) {
  for (const auto& spec : all_specs()) {
    const Dataset data = generate(spec, 7);
    EXPECT_EQ(data.name, spec.substr(0, spec.find('?')));
    EXPECT_EQ(data.source, "gen:" + spec);
    EXPECT_EQ(data.rows(), 7u) << spec;
    EXPECT_EQ(data.n_targets(), 1u) << spec;
    EXPECT_EQ(data.inputs.size(), 7 * data.n_inputs()) << spec;
    EXPECT_TRUE(data.lines.empty()) << spec;
    const std::set<std::string> names(data.input_names.begin(), data.input_names.end());
    EXPECT_EQ(names.size(), data.n_inputs()) << spec << ": names repeat";
    EXPECT_EQ(generate(spec, 0).rows(), 0u) << spec;
  }
}

TEST(Generators, KeepTargetsInRangeAndInputsNearUnitVariance) {
  for (const auto& spec : all_specs()) {
    const Dataset data = generate(spec, 3000);
    const bool addition = data.name == "addition";
    const double limit = addition ? 0.5 : 0.8;
    const auto clipped = std::count_if(data.targets.begin(), data.targets.end(),
                                       [](double d) { return std::abs(d) == 0.8; });
    EXPECT_LE(clipped, 30) << spec << ": more than 1 % of the targets are clipped";
    for (double d : data.targets) ASSERT_LE(std::abs(d), limit) << spec;

    for (std::size_t i = 0; i < data.n_inputs(); ++i) {
      double sum = 0;
      double squares = 0;
      for (std::size_t t = 0; t < data.rows(); ++t) {
        sum += data.x(t)[i];
        squares += data.x(t)[i] * data.x(t)[i];
      }
      const double mean = sum / 3000;
      const double deviation = std::sqrt(squares / 3000 - mean * mean);
      const double expected = addition ? 0.5 : 1;
      EXPECT_NEAR(deviation, expected, 0.3 * expected) << spec << " input " << i;
      EXPECT_NEAR(mean, addition ? 0.5 : 0, 0.25) << spec << " input " << i;
    }
  }
}

TEST(Generators, ExplainWhatTheyDoNotUnderstand) {
  const std::string unknown = message_of("addition-of-bits?n=3");
  EXPECT_NE(unknown.find("'addition-of-bits'"), std::string::npos) << unknown;
  for (const auto& info : generators()) EXPECT_NE(unknown.find(info.name), std::string::npos);

  EXPECT_EQ(message_of("addition?bits=3"),
            "generator addition has no key 'bits'; its keys are n, seed");
  EXPECT_EQ(message_of("addition?n=17"),
            "generator addition: n='17' is not a whole number in 2..16");
  EXPECT_EQ(message_of("puma-like?dynamics=x"), "generator puma-like: dynamics='x' is not f|n");
  EXPECT_EQ(message_of("addition?n=3&n=4"), "generator addition: key 'n' is given twice");
  for (const char* spec :
       {"addition?n=", "addition?n", "addition?n=3.5", "addition?n=three", "addition?seed=-1",
        "addition?n=3&&seed=1", "addition?=3", "friedman?noise=nan", "friedman?noise=inf",
        "kin-like?inputs=9", "?", "", "addition?n=4 "}) {
    EXPECT_NE(message_of(spec), "no error") << spec;
  }
}

TEST(Generators, PermitTheirOwnFallbacks) {
  for (const auto& info : generators()) {
    EXPECT_EQ(info.parameters.back().key, "seed") << info.name;
    for (const auto& p : info.parameters)
      EXPECT_EQ(message_of(info.name + "?" + p.key + "=" + p.fallback), "no error");
  }
}

// ---- Single streams ----------------------------------------------------------------------------

TEST(Addition, AgreesWithIntegerAddition) {
  // 40 rows hold n numbers of 40 bits, lowest first; their sum's lowest 40 bits are the targets.
  for (std::size_t n = 2; n <= 16; ++n) {
    const Dataset data = generate("addition?n=" + std::to_string(n), 40);
    ASSERT_EQ(data.n_inputs(), n);
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < 40; ++t)
      for (double bit : data.x(t)) {
        ASSERT_TRUE(bit == 0 || bit == 1);
        if (bit == 1) sum += std::uint64_t{1} << t;
      }
    for (std::size_t t = 0; t < 40; ++t)
      EXPECT_EQ(data.d(t)[0], (sum >> t) % 2 == 1 ? 0.5 : -0.5) << "n = " << n << ", row " << t;
  }
}

TEST(Series, TargetsComeBackAsInputs) {
  for (const std::string name : {"mackey-glass", "lorenz", "sine"}) {
    const Dataset data = generate(name + "?lags=3&ahead=4&noise=0.1", 200);
    EXPECT_EQ(data.input_names, (std::vector<std::string>{"y[t]", "y[t-1]", "y[t-2]"}));
    EXPECT_EQ(data.target_names, std::vector<std::string>{"y[t+4]"});
    const double ratio = data.d(0)[0] / data.x(4)[0];
    for (std::size_t t = 0; t + 4 < data.rows(); ++t) {
      EXPECT_NEAR(data.d(t)[0], ratio * data.x(t + 4)[0], 1e-12) << name;
      EXPECT_EQ(data.x(t)[0], data.x(t + 1)[1]) << name;
      EXPECT_EQ(data.x(t)[1], data.x(t + 1)[2]) << name;
    }
  }
}

TEST(Series, MemoryMatters) {
  for (const std::string name : {"mackey-glass", "lorenz", "sine"})
    EXPECT_LT(linear_nse(name + "?lags=8"), 0.5 * linear_nse(name)) << name;
}

TEST(MackeyGlass, SettlesAtItsFixedPointWhenTheDelayIsShort) {
  // β/(1 + xⁿ) = γ has the solution x = 1 for β = 2γ, stable for a short delay.
  const Dataset data = generate("mackey-glass?tau=2&ahead=1", 50);
  for (double d : data.targets) EXPECT_NEAR(d, 1 - 0.93, 1e-9);
}

TEST(Narma10, FollowsItsRecursion) {
  const Dataset data = generate("narma10", 500);
  const auto u = [&](std::size_t t) { return 0.25 + 0.25 * data.x(t)[0] / std::sqrt(3.0); };
  const auto y = [&](std::size_t t) { return 0.4 + 0.5 * data.d(t)[0] / 0.8; };
  for (std::size_t t = 10; t < data.rows(); ++t) {
    double sum = 0;
    for (std::size_t i = 1; i <= 10; ++i) sum += y(t - i);
    const double expected = 0.3 * y(t - 1) + 0.05 * y(t - 1) * sum + 1.5 * u(t - 9) * u(t) + 0.1;
    EXPECT_NEAR(y(t), expected, 1e-12);
  }
}

TEST(Friedman, DriftsWhenAskedTo) {
  const Dataset still = generate("friedman?noise=0", 300);
  const Dataset abrupt = generate("friedman?noise=0&drift=abrupt&period=100", 300);
  const Dataset gradual = generate("friedman?noise=0&drift=gradual&period=100", 300);
  EXPECT_EQ(still.inputs, abrupt.inputs);
  EXPECT_EQ(first(still.targets, 100), first(abrupt.targets, 100));
  EXPECT_EQ(still.targets[0], gradual.targets[0]);
  EXPECT_EQ(abrupt.targets[100], gradual.targets[100]);
  for (std::size_t t = 100; t < 300; ++t) EXPECT_NE(still.targets[t], abrupt.targets[t]);
}

// ---- Calibration: the NSE of linear least squares, within a band -----------------------------

struct Band {
  const char* spec;
  double low;
  double high;
};

void PrintTo(const Band& band, std::ostream* out) { *out << band.spec; }

class Calibration : public testing::TestWithParam<Band> {};

TEST_P(Calibration, LinearFitLeavesAsMuchAsInTheRealFiles) {
  const double nse = linear_nse(GetParam().spec);
  EXPECT_GT(nse, GetParam().low) << GetParam().spec;
  EXPECT_LT(nse, GetParam().high) << GetParam().spec;
}

INSTANTIATE_TEST_SUITE_P(Robots, Calibration,
                         testing::Values(Band{"kin-like", 0.50, 0.60},
                                         Band{"kin-like?dynamics=f", 0.10, 0.20},
                                         Band{"kin-like?inputs=32&dynamics=f", 0.10, 0.20},
                                         Band{"kin-like?dynamics=f&noise=h", 0.35, 0.45},
                                         Band{"puma-like", 0.45, 0.55},
                                         Band{"puma-like?dynamics=f", 0.03, 0.10},
                                         Band{"puma-like?inputs=32&dynamics=f", 0.05, 0.10},
                                         Band{"puma-like?inputs=32", 0.60, 0.90}));

// ---- Physics -----------------------------------------------------------------------------------

Joints random_joints(Rng& rng, double range) {
  Joints values;
  for (double& v : values) v = rng.uniform(-range, range);
  return values;
}

TEST(EndPoint, OfKnownChains) {
  constexpr double right = std::numbers::pi / 2;
  // Straight: lengths add along x, offsets along z.
  const std::array<DhLink, 2> straight = {{{.d = 0.3, .a = 1}, {.a = 2}}};
  EXPECT_NEAR(end_point(straight).x, 3, 1e-15);
  EXPECT_NEAR(end_point(straight).z, 0.3, 1e-15);
  // The second joint turns about −y after a twist of π/2, so a quarter turn points up.
  const std::array<DhLink, 2> up = {{{.a = 1, .alpha = right}, {.theta = right, .a = 2}}};
  EXPECT_NEAR(end_point(up).x, 1, 1e-15);
  EXPECT_NEAR(end_point(up).y, 0, 1e-15);
  EXPECT_NEAR(end_point(up).z, 2, 1e-15);
}

TEST(PumaDynamics, MassMatrixIsSymmetricPositiveDefinite) {
  Rng rng(1);
  for (int trial = 0; trial < 20; ++trial) {
    JointMatrix M = mass_matrix(puma560(), random_joints(rng, 3));
    for (std::size_t i = 0; i < arm_joints; ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(M[i][j], M[j][i], 1e-12);
    for (std::size_t k = 0; k < arm_joints; ++k) {  // the pivots of elimination
      ASSERT_GT(M[k][k], 0);
      for (std::size_t i = k + 1; i < arm_joints; ++i) {
        const double l = M[i][k] / M[k][k];
        for (std::size_t j = k; j < arm_joints; ++j) M[i][j] -= l * M[k][j];
      }
    }
  }
}

TEST(PumaDynamics, ForwardUndoesInverse) {
  Rng rng(2);
  for (int trial = 0; trial < 20; ++trial) {
    const ArmState state{random_joints(rng, 3), random_joints(rng, 3)};
    const Joints qdd = random_joints(rng, 10);
    const Joints back = forward_dynamics(puma560(), state, inverse_dynamics(puma560(), state, qdd));
    for (std::size_t i = 0; i < arm_joints; ++i) EXPECT_NEAR(back[i], qdd[i], 1e-9);
  }
}

// U = Σ m g zᵀc; two more links lead from each frame to the link's centre of mass.
double potential_energy(const Arm& arm, const Joints& q) {
  double U = 0;
  std::vector<DhLink> chain;
  for (std::size_t i = 0; i < arm_joints; ++i) {
    const auto& [dh, m, r, I, drive] = arm.links[i];
    chain.push_back({.theta = q[i], .d = dh.d, .a = dh.a, .alpha = dh.alpha});
    std::vector<DhLink> to_centre = chain;
    to_centre.push_back({.d = r.z, .a = r.x});
    to_centre.push_back({.theta = std::numbers::pi / 2, .a = r.y});
    U += m * arm.gravity * end_point(to_centre).z;
  }
  return U;
}

TEST(PumaDynamics, GravityTorqueIsTheGradientOfPotentialEnergy) {
  const Arm arm = puma560();
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Joints q = random_joints(rng, 3);
    const Joints tau = inverse_dynamics(arm, {.q = q}, {});
    for (std::size_t i = 0; i < arm_joints; ++i) {
      const double h = 1e-5;
      Joints above = q;
      Joints below = q;
      above[i] += h;
      below[i] -= h;
      const double slope = (potential_energy(arm, above) - potential_energy(arm, below)) / (2 * h);
      EXPECT_NEAR(tau[i], slope, 1e-7);
    }
  }
}

// ½ q̇ᵀ M(q) q̇ + U(q).
double energy(const Arm& arm, const ArmState& state) {
  const JointMatrix M = mass_matrix(arm, state.q);
  double E = potential_energy(arm, state.q);
  for (std::size_t i = 0; i < arm_joints; ++i)
    for (std::size_t j = 0; j < arm_joints; ++j) E += 0.5 * state.qd[i] * M[i][j] * state.qd[j];
  return E;
}

ArmState moved(ArmState state, double h, const ArmState& rate) {
  for (std::size_t i = 0; i < arm_joints; ++i) {
    state.q[i] += h * rate.q[i];
    state.qd[i] += h * rate.qd[i];
  }
  return state;
}

// The arm without torque after `steps` Runge–Kutta steps of length h.
ArmState coasted(const Arm& arm, ArmState state, double h, int steps) {
  const auto rate = [&](const ArmState& s) { return ArmState{s.qd, forward_dynamics(arm, s, {})}; };
  for (int k = 0; k < steps; ++k) {
    const ArmState k1 = rate(state);
    const ArmState k2 = rate(moved(state, h / 2, k1));
    const ArmState k3 = rate(moved(state, h / 2, k2));
    const ArmState k4 = rate(moved(state, h, k3));
    state = moved(state, h / 6, k1);
    state = moved(state, h / 3, k2);
    state = moved(state, h / 3, k3);
    state = moved(state, h / 6, k4);
  }
  return state;
}

TEST(PumaDynamics, EnergyIsConservedWithoutFrictionAndLostWithIt) {
  Rng rng(4);
  const ArmState start{random_joints(rng, 2), random_joints(rng, 2)};
  const Arm free = without_friction(puma560());
  EXPECT_NEAR(energy(free, coasted(free, start, 1e-3, 1000)), energy(free, start), 1e-6);
  EXPECT_LT(energy(puma560(), coasted(puma560(), start, 1e-3, 100)), energy(puma560(), start) - 1);
}

}  // namespace
}  // namespace kalstream
