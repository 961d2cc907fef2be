// What a rule sees of a sample, against the definition of each loss on complex numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <string>

#include "loss/loss_function.h"
#include "support.h"

namespace kalstream {
namespace {

using test::near;
using test::normals;
using test::Vector;
using Complex = std::complex<double>;
using Kind = Loss::Kind;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// ℓ(d, z) by its formula, of outputs z before any link.
template <class T>
T definition(const Loss& loss, const Vector& d, const std::vector<T>& z) {
  const auto real = [](const T& v) { return std::real(v); };
  T total = 0;
  if (loss.kind == Kind::cross_entropy && d.size() > 1) {
    T sum = 0;
    for (const T& v : z) sum += std::exp(v);
    for (std::size_t k = 0; k < d.size(); ++k) total -= d[k] * (z[k] - std::log(sum));
    return total;
  }
  for (std::size_t k = 0; k < d.size(); ++k) {
    const T e = d[k] - z[k];
    const T size = real(e) < 0 ? -e : e;
    switch (loss.kind) {
      case Kind::squared:
        total += e * e;
        break;
      case Kind::cross_entropy:
        total += std::log(1.0 + std::exp(z[k])) - d[k] * z[k];
        break;
      case Kind::poisson:
        total += std::exp(z[k]) - d[k] * z[k];
        break;
      case Kind::huber:
        total += real(size) <= loss.threshold ? e * e / 2.0
                                              : loss.threshold * (size - loss.threshold / 2);
        break;
      case Kind::quantile:  // its kink rounded off
        total += (real(e) < 0 ? 1 - loss.quantile : loss.quantile) *
                 (real(size) <= loss.threshold ? e * e / (2 * loss.threshold)
                                               : size - loss.threshold / 2);
    }
  }
  return total;
}

struct Case {
  std::string name;
  Loss loss;
  std::size_t n_d;
};

std::vector<Case> cases() {
  return {{"two_classes", {Kind::cross_entropy}, 1},   {"three_classes", {Kind::cross_entropy}, 3},
          {"seven_classes", {Kind::cross_entropy}, 7}, {"counts", {Kind::poisson}, 1},
          {"three_counts", {Kind::poisson}, 3},        {"huber", {Kind::huber, 0.4}, 2},
          {"median", {Kind::quantile, 0.1, 0.5}, 1},   {"quantile", {Kind::quantile, 0.3, 0.9}, 2}};
}

class Losses : public testing::TestWithParam<Case> {
 protected:
  const Loss loss = GetParam().loss;
  const std::size_t n_d = GetParam().n_d;
  LossFunction function{loss, n_d};
  Rng rng{5};

  Vector target() {
    Vector d = normals(rng, n_d, 2);
    if (loss.kind == Kind::poisson)
      for (double& v : d) v = std::floor(std::exp(v));
    if (loss.kind == Kind::cross_entropy) {
      const auto top = std::max_element(d.begin(), d.end()) - d.begin();
      if (n_d == 1) return {d[0] > 0 ? 1.0 : 0.0};
      std::fill(d.begin(), d.end(), 0.0);
      d[static_cast<std::size_t>(top)] = 1;
    }
    return d;
  }
  Vector told(Vector z) const {
    function.link(z);
    return z;
  }
  /// e' and H' for H = I.
  std::pair<Vector, Vector> seen(const Vector& d, const Vector& mu) {
    Vector e(n_d), H(n_d * n_d), e_white(n_d), H_white(n_d * n_d, 42.0);
    for (std::size_t k = 0; k < n_d; ++k) {
      e[k] = d[k] - mu[k];
      H[k * n_d + k] = 1;
    }
    function.whiten(mu, e, H, e_white, H_white);
    return {e_white, H_white};
  }
  Vector through(const Vector& H, const Vector& e) const {  // Hᵀe
    Vector out(n_d);
    for (std::size_t k = 0; k < n_d; ++k)
      for (std::size_t j = 0; j < n_d; ++j) out[j] += H[k * n_d + j] * e[k];
    return out;
  }
};

TEST_P(Losses, WhatARuleSeesHasTheirGradient) {
  for (const double scale : {0.1, 1.0, 5.0, 12.0})
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Vector z = normals(rng, n_d, scale);
      const Vector d = target();
      Vector gradient(n_d);
      std::vector<Complex> shifted(z.begin(), z.end());
      for (std::size_t k = 0; k < n_d; ++k) {
        shifted[k] = Complex(z[k], 1e-30);
        gradient[k] = -definition(loss, d, shifted).imag() / 1e-30;
        shifted[k] = z[k];
      }
      const auto [e, H] = seen(d, told(z));
      EXPECT_TRUE(near(through(H, e), gradient, 1e-10)) << "scale " << scale;
    }
}

// So that a Kalman filter under noise of size 1 is the one of the exponential family.
TEST_P(Losses, WhereNothingIsSurprisingNoiseHasSizeOne) {
  if (!loss.has_link()) return;
  const Vector mu = told(normals(rng, n_d));
  Vector H(n_d * n_d), H_white(n_d * n_d);
  for (std::size_t k = 0; k < n_d; ++k) H[k * n_d + k] = 1;
  function.whiten(mu, H, H_white);
  Vector expected(n_d * n_d), curvature(n_d * n_d);
  for (std::size_t j = 0; j < n_d; ++j)
    for (std::size_t k = 0; k < n_d; ++k) {
      const double both = loss.kind == Kind::poisson ? 0 : mu[j] * mu[k];
      expected[j * n_d + k] = (j == k ? mu[k] : 0) - both;
      for (std::size_t l = 0; l < n_d; ++l)
        curvature[j * n_d + k] += H_white[l * n_d + j] * H_white[l * n_d + k];
    }
  EXPECT_TRUE(near(curvature, expected, 1e-14));
  // And back: with variances of one, targets have theirs.
  Vector v(n_d, 1.0), variances(n_d);
  function.to_variance_of_target(v);
  for (std::size_t k = 0; k < n_d; ++k) variances[k] = expected[k * n_d + k];
  EXPECT_TRUE(near(v, variances, 1e-14));
}

// A full Newton step, H'⁺e', which is what the filter makes where P is large: it never increases
// the loss, however wrong z was.
TEST_P(Losses, AFullStepIsNeverTooLarge) {
  for (const double scale : {0.5, 3.0, 10.0, 20.0})
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Vector z = normals(rng, n_d, scale);
      const Vector d = target();
      const auto [e, H] = seen(d, told(z));
      // One filter step from P = pI: Δz = pH'ᵀ(pH'H'ᵀ + I)⁻¹e', by elimination.
      for (const double p : {0.1, 1.0, 100.0, 1e6}) {
        std::vector<Vector> S(n_d, Vector(n_d + 1));
        for (std::size_t i = 0; i < n_d; ++i) {
          for (std::size_t j = 0; j < n_d; ++j) {
            S[i][j] = i == j ? 1 : 0;
            for (std::size_t k = 0; k < n_d; ++k) S[i][j] += p * H[i * n_d + k] * H[j * n_d + k];
          }
          S[i][n_d] = e[i];
        }
        for (std::size_t k = 0; k < n_d; ++k)
          for (std::size_t i = 0; i < n_d; ++i) {
            const double factor = S[i][k] / S[k][k];
            for (std::size_t j = k; j <= n_d && i != k; ++j) S[i][j] -= factor * S[k][j];
          }
        Vector u(n_d);
        for (std::size_t k = 0; k < n_d; ++k) u[k] = p * S[k][n_d] / S[k][k];
        Vector moved = through(H, u);
        for (std::size_t k = 0; k < n_d; ++k) moved[k] += z[k];
        EXPECT_LE(definition(loss, d, moved), definition(loss, d, z) * (1 + 1e-9) + 1e-9)
            << "scale " << scale << ", p " << p;
      }
    }
}

// exp(−ℓ) of a log-likelihood is the probability itself; the others by their formulas.
TEST_P(Losses, AreWhatTheySay) {
  if (loss.kind == Kind::quantile) return;  // told without its kink rounded off
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Vector z = normals(rng, n_d, 2);
    const Vector d = target();
    EXPECT_NEAR(function.of(d, told(z)), definition(loss, d, z), 1e-9);
  }
}

TEST_P(Losses, NothingIsCertain) {
  for (const double extreme : {-1e100, -800.0, -40.0, 40.0, 800.0, 1e100}) {
    Vector z(n_d);
    z[0] = extreme;
    const Vector mu = told(z);
    const Vector d = target();
    EXPECT_TRUE(std::isfinite(function.of(d, mu)));
    const auto [e, H] = seen(d, mu);
    for (const double v : e) EXPECT_TRUE(std::isfinite(v));
    for (const double v : H) EXPECT_TRUE(std::isfinite(v));
    if (!loss.has_link()) continue;
    for (const double v : mu) EXPECT_GE(v, 1e-12);
    if (loss.kind == Kind::cross_entropy) {
      EXPECT_NEAR(n_d == 1 ? 1 : std::accumulate(mu.begin(), mu.end(), 0.0), 1, 1e-10);
      for (const double v : mu) EXPECT_LE(v, 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Losses, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

TEST(Loss, RefusesWhatIsNoTarget) {
  const LossFunction two({Kind::cross_entropy}, 1);
  EXPECT_TRUE(two.accepts(Vector{0}) && two.accepts(Vector{1}) && two.accepts(Vector{0.3}));
  EXPECT_FALSE(two.accepts(Vector{-0.1}) || two.accepts(Vector{1.1}) || two.accepts(Vector{nan}));
  const LossFunction three({Kind::cross_entropy}, 3);
  EXPECT_TRUE(three.accepts(Vector{0, 1, 0}) && three.accepts(Vector{0.2, 0.3, 0.5}));
  EXPECT_FALSE(three.accepts(Vector{0, 0, 0}) || three.accepts(Vector{1, 1, 0}));
  EXPECT_FALSE(three.accepts(Vector{-1, 1, 1}));
  const LossFunction counts({Kind::poisson}, 2);
  EXPECT_TRUE(counts.accepts(Vector{0, 1e9}));
  EXPECT_FALSE(counts.accepts(Vector{-1, 1}) || counts.accepts(Vector{1e101, 1}));
  EXPECT_TRUE(LossFunction({Kind::huber}, 1).accepts(Vector{-1e300}));
}

TEST(Loss, OptionsAreChecked) {
  const auto expect_names = [](const Loss& loss, const std::string& field) {
    try {
      loss.validate();
      ADD_FAILURE() << field;
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(field)) << error.what();
    }
  };
  for (const double bad : {0.0, -1.0, nan}) {
    expect_names({Kind::huber, bad}, "loss_threshold");
    expect_names({Kind::quantile, 0.1, bad}, "quantile");
  }
  expect_names({Kind::quantile, 0.1, 1.0}, "quantile");
}

}  // namespace
}  // namespace kalstream
