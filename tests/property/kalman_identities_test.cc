// What any Kalman update obeys, whatever the data: checked with dense matrices.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <string>

#include "kalstream/learner.h"
#include "learner/network_learner.h"
#include "support.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::normals;
using test::same_bits;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Setting {
  Partition partition;
  bool shared;
  std::size_t n_d;
};

const char* to_string(Partition p) {
  const char* names[] = {"node", "unit", "gate", "full"};
  return names[static_cast<int>(p)];
}

std::vector<Setting> settings(auto wanted) {
  std::vector<Setting> all;
  for (const Partition p : {Partition::node, Partition::unit, Partition::gate, Partition::full})
    for (const bool shared : {false, true})
      for (const std::size_t n_d : {1, 2, 3})
        if (wanted(Setting{p, shared, n_d})) all.push_back({p, shared, n_d});
  return all;
}

MatrixXd dense(std::span<const double> packed, std::size_t n) {
  MatrixXd P(n, n);
  for (std::size_t i = 0, k = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j, ++k) P(i, j) = P(j, i) = packed[k];
  return P;
}

// The columns of H (n_d × n_θ, row after row) that belong to a block.
MatrixXd columns(const Vector& H, std::size_t n_d, const Block& block) {
  const std::size_t n_theta = H.size() / n_d;
  MatrixXd out(n_d, block_size(block));
  for (std::size_t k = 0; k < n_d; ++k) {
    std::size_t column = 0;
    for (const Segment& s : block)
      for (std::size_t n = 0; n < s.length; ++n) out(k, column++) = H[k * n_theta + s.offset + n];
  }
  return out;
}

VectorXd entries(std::span<const double> theta, const Block& block) {
  return columns({theta.begin(), theta.end()}, 1, block).transpose();
}

double largest(const MatrixXd& m) { return m.cwiseAbs().maxCoeff(); }

/// A rule on its own, with errors and Jacobians from the test instead of a network.
class Kalman : public testing::TestWithParam<Setting> {
 protected:
  const std::size_t n_d = GetParam().n_d;
  const ParameterLayout layout{test::small_network(2, 2, n_d)};
  Rng rng{17};
  AlignedVector theta = test::aligned(normals(rng, layout.size(), 0.3));

  BlockKalman make(double p1, Schedule r, Schedule q, double noise_factor = 0) const {
    return {{.partition = GetParam().partition,
             .shared_innovation = GetParam().shared,
             .initial_covariance = p1,
             .process_noise = q,
             .noise_floor = r,
             .noise_factor = noise_factor},
            layout};
  }
  Vector random_H(double scale = 1) { return normals(rng, n_d * layout.size(), scale); }
  Vector random_e(double scale = 1) { return normals(rng, n_d, scale); }

  static Vector covariances(const BlockKalman& rule) {
    Vector all;
    for (std::size_t i = 0; i < rule.block_count(); ++i) {
      const Vector one = rule.covariance(i);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  static Vector mended(const BlockKalman& rule, Vector P) {
    for (std::size_t i = 0, offset = 0; i < rule.block_count(); ++i)
      for (std::size_t n = 0; n < block_size(rule.block(i)); offset += ++n)
        P[offset + n] += 1e-10 * P[offset + n];
    return P;
  }
  static MatrixXd P(const BlockKalman& rule, std::size_t i) {
    return dense(rule.covariance(i), block_size(rule.block(i)));
  }

  // Jacobians nobody would wish for.
  std::vector<Vector> adversarial() {
    std::vector<Vector> all;
    const Vector H = random_H();
    const auto scaled = [&](double a) {
      Vector v = H;
      for (double& h : v) h *= a;
      return v;
    };
    for (const double a : {0.0, 1e-300, 1e-200, 1e-100, 1e-8, 1.0, 1e4, 1e8, 1e100, 1e150})
      all.push_back(scaled(a));
    Vector mixed = H;
    for (std::size_t n = 0; n < mixed.size(); ++n) mixed[n] *= std::pow(10.0, double(n % 41) - 20);
    all.push_back(mixed);
    Vector one(H.size());
    one[H.size() / 2] = 1e6;
    all.push_back(one);
    Vector same_rows = H;  // the outputs cannot be told apart
    for (std::size_t n = 0; n < same_rows.size(); ++n) same_rows[n] = 1e5 * H[n % layout.size()];
    all.push_back(same_rows);
    return all;
  }
};

class OwnInnovation : public Kalman {};
class OneBlock : public Kalman {};

// Eqs 10–17 with explicit inverses.
TEST_P(Kalman, IsTheTextbookUpdate) {
  for (const double noise_factor : {0.0, 3.0}) {
    const double floor = 0.5;
    BlockKalman rule = make(2, floor, Schedule::linear(1e-2, 1e-3, 20), noise_factor);
    for (std::uint64_t t = 0; t < 30; ++t) {
      const Vector H = random_H(t % 5 == 4 ? 3 : 0.3);
      const Vector e = random_e();
      const VectorXd e_vector = Eigen::Map<const VectorXd>(e.data(), n_d);
      const double q = 1e-2 + (1e-3 - 1e-2) * std::min(double(t) / 20, 1.0);
      std::vector<MatrixXd> before, HPH;
      MatrixXd total = MatrixXd::Zero(n_d, n_d);
      for (std::size_t i = 0; i < rule.block_count(); ++i) {
        const MatrixXd H_i = columns(H, n_d, rule.block(i));
        before.push_back(P(rule, i));
        HPH.push_back(H_i * before[i] * H_i.transpose());
        total += HPH[i];
      }
      const AlignedVector theta_before = theta;
      ASSERT_EQ(rule.update(e, H, theta), StepStatus::applied);
      for (std::size_t i = 0; i < rule.block_count(); ++i) {
        const MatrixXd H_i = columns(H, n_d, rule.block(i));
        MatrixXd S = GetParam().shared ? total : HPH[i];
        const double r = floor + noise_factor * S.trace() / double(n_d);
        S += r * MatrixXd::Identity(n_d, n_d);
        const MatrixXd G = before[i] * H_i.transpose() * S.inverse();
        const MatrixXd I = MatrixXd::Identity(before[i].rows(), before[i].rows());
        const MatrixXd after = (I - G * H_i) * before[i] + q * I;
        EXPECT_LE(largest(P(rule, i) - after), 1e-13 * largest(before[i]));
        const VectorXd expected = entries(theta_before, rule.block(i)) + G * e_vector;
        EXPECT_LE(largest(entries(theta, rule.block(i)) - expected),
                  1e-13 * std::max(1.0, largest(expected)));
      }
    }
  }
}

// (P₊ − qI)⁻¹ = P⁻¹ + r⁻¹HᵀH, where each block has its own innovation. Condition numbers stay
// below 1e4, so the inverses are good to 1e-11.
TEST_P(OwnInnovation, InformationAdds) {
  const double r = 0.7;
  const double q = 1e-3;
  BlockKalman rule = make(1, r, q);
  for (int t = 0; t < 20; ++t) {
    const Vector H = random_H(0.5);
    std::vector<MatrixXd> information;
    for (std::size_t i = 0; i < rule.block_count(); ++i) {
      const MatrixXd H_i = columns(H, n_d, rule.block(i));
      information.push_back(P(rule, i).inverse() + H_i.transpose() * H_i / r);
    }
    ASSERT_EQ(rule.update(random_e(), H, theta), StepStatus::applied);
    for (std::size_t i = 0; i < rule.block_count(); ++i) {
      const MatrixXd after = P(rule, i);
      const MatrixXd without_q = after - q * MatrixXd::Identity(after.rows(), after.rows());
      EXPECT_LE(largest(without_q.inverse() - information[i]), 1e-11 * largest(information[i]));
    }
  }
}

// Without process noise every diagonal entry only loses squares: exact, no tolerance. Only where an
// update was refused because of P, that is mended.
TEST_P(Kalman, TraceNeverGrows) {
  for (const double noise_factor : {0.0, 3.0}) {
    BlockKalman rule = make(100, 3, 0, noise_factor);
    double trace = rule.covariance_trace();
    int applied = 0;
    const auto step = [&](const Vector& H, const Vector& e) {
      const StepStatus status = rule.update(e, H, theta);
      applied += status == StepStatus::applied ? 1 : 0;
      // An update that is refused mends P; another rounds the sum of the variances.
      const double slack = status == StepStatus::rejected_covariance ? 1.01e-10 : 1e-15;
      EXPECT_LE(rule.covariance_trace(), trace + slack * trace);
      trace = rule.covariance_trace();
      EXPECT_GT(trace, 0);
    };
    for (int round = 0; round < 3; ++round)
      for (const Vector& H : adversarial())
        for (const double scale : {0.0, 1e-200, 1.0, 1e50}) step(H, random_e(scale));
    const Vector H = random_H();
    for (int t = 0; t < 1000; ++t) step(H, random_e());
    EXPECT_GT(applied, 500);  // a rule that rejects everything proves nothing
  }
}

// After every accepted update P is a covariance: positive definite beyond rounding.
TEST_P(Kalman, CovarianceStaysPositiveDefinite) {
  for (const double noise_factor : {0.0, 3.0}) {
    BlockKalman rule = make(100, 3, 1e-6, noise_factor);
    const auto step = [&](const Vector& H, const Vector& e, const std::string& what) {
      rule.update(e, H, theta);
      for (std::size_t i = 0; i < rule.block_count(); ++i) {
        const Eigen::LDLT<MatrixXd> ldlt(P(rule, i));
        ASSERT_EQ(ldlt.info(), Eigen::Success) << what;
        ASSERT_GT(ldlt.vectorD().minCoeff(), 0) << what << ", block " << i;
      }
    };
    for (int round = 0; round < 3; ++round) {
      const auto all = adversarial();
      for (std::size_t k = 0; k < all.size(); ++k)
        step(all[k], random_e(), "adversarial " + std::to_string(k));
    }
    const Vector H = random_H();
    for (int t = 0; t < 1000; ++t) {
      ASSERT_EQ(rule.update(random_e(), H, theta), StepStatus::applied);
      if (t % 100 == 99) step(H, random_e(), "the same again");
    }
  }
}

// Without process noise nothing makes up for rounding: the smallest eigenvalue may fall below 0,
// but by no more than the rounding of p₁.
TEST_P(Kalman, WithoutProcessNoiseNoEigenvalueIsNegativeBeyondRounding) {
  const double p1 = 100;
  BlockKalman rule = make(p1, 3, 0);
  for (int t = 0; t < 300; ++t) {
    rule.update(random_e(), random_H(t % 3 == 0 ? 1e8 : 1), theta);
    if (t % 20 != 19) continue;
    for (std::size_t i = 0; i < rule.block_count(); ++i) {
      const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(P(rule, i), Eigen::EigenvaluesOnly);
      const double rounding = 16 * double(layout.size()) * std::numeric_limits<double>::epsilon();
      ASSERT_GT(solver.eigenvalues()(0), -rounding * p1) << t;
    }
  }
  for (const double w : theta) EXPECT_TRUE(std::isfinite(w));
}

// A coordinate measured far better than r knows: P_kk − w² rounds to 0, or below. Such an update is
// refused, whole; what is accepted leaves a positive variance.
TEST_P(Kalman, LosingAVarianceIsRefused) {
  const std::size_t measured = layout.output_row(0);
  int refused = 0;
  for (double p1 = 0.3; p1 < 100; p1 *= 1.7) {
    BlockKalman rule = make(p1, 1e-3, 0);
    const AlignedVector theta_before = theta;
    const Vector P_before = covariances(rule);
    Vector H(n_d * layout.size());
    H[measured] = 1e20;
    const StepStatus status = rule.update(random_e(), H, theta);
    if (status == StepStatus::applied) {
      for (std::size_t i = 0; i < rule.block_count(); ++i)
        EXPECT_GT(P(rule, i).diagonal().minCoeff(), 0) << p1;
    } else {
      ++refused;
      EXPECT_EQ(status, StepStatus::rejected_covariance);
      EXPECT_TRUE(same_bits(theta, theta_before));
      EXPECT_TRUE(same_bits(covariances(rule), mended(rule, P_before)));
    }
  }
  EXPECT_GT(refused, 0);
}

// Whatever cannot be applied leaves θ and P as they were, and learning goes on.
TEST_P(Kalman, RejectedUpdatesChangeNothing) {
  BlockKalman rule = make(10, 1, 1e-5);
  for (int t = 0; t < 5; ++t)
    ASSERT_EQ(rule.update(random_e(), random_H(0.1), theta), StepStatus::applied);
  const AlignedVector theta_before = theta;
  const Vector P_before = covariances(rule);
  const auto expect_rejected = [&](const Vector& e, const Vector& H, const std::string& what) {
    EXPECT_EQ(rule.update(e, H, theta), StepStatus::rejected_non_finite) << what;
    EXPECT_TRUE(same_bits(theta, theta_before)) << what;
    EXPECT_TRUE(same_bits(covariances(rule), P_before)) << what;
  };
  for (const double bad : {nan, infinity, -infinity}) {
    for (std::size_t k = 0; k < n_d; ++k) {
      Vector e = random_e();
      e[k] = bad;
      expect_rejected(e, random_H(), "e");
      expect_rejected(e, Vector(n_d * layout.size()), "e, H = 0");
    }
    for (std::size_t n = 0; n < n_d * layout.size(); n += 7) {
      Vector H = random_H();
      H[n] = bad;
      expect_rejected(random_e(), H, "H " + std::to_string(n));
    }
  }
  expect_rejected(random_e(), random_H(1e200), "H overflows");
  expect_rejected(random_e(1e300), random_H(), "e overflows");
  expect_rejected(random_e(1e110), random_H(1e-3), "weights beyond use");

  // d = Hθ* with a fixed θ*: the error falls although bad samples keep coming.
  const Vector target = normals(rng, layout.size());
  const auto error = [&](const Vector& H) {
    Vector e(n_d);
    for (std::size_t k = 0; k < n_d; ++k)
      for (std::size_t n = 0; n < layout.size(); ++n)
        e[k] += H[k * layout.size() + n] * (target[n] - theta[n]);
    return e;
  };
  const auto mean_square = [&] {
    double sum = 0;
    Rng fixed(5);
    for (int t = 0; t < 50; ++t)
      for (const double e : error(normals(fixed, n_d * layout.size(), 0.1))) sum += e * e;
    return sum;
  };
  const double at_first = mean_square();
  for (int t = 0; t < 400; ++t) {
    const Vector H = random_H(0.1);
    EXPECT_EQ(rule.update(error(H), H, theta), StepStatus::applied);
    if (t % 10 == 0) rule.update(Vector(n_d, nan), H, theta);
  }
  EXPECT_LT(mean_square(), 0.05 * at_first);
}

// A loose gate: nothing is learnt, whatever the error's direction; at the threshold itself neither.
TEST_P(Kalman, GatedStepsChangeNothing) {
  for (const bool q_when_gated : {false, true}) {
    const double q = 1e-3;
    BlockKalman rule({.partition = GetParam().partition,
                      .shared_innovation = GetParam().shared,
                      .initial_covariance = 2,
                      .process_noise = q,
                      .noise_floor = 1,
                      .gate_threshold = 4,
                      .process_noise_when_gated = q_when_gated},
                     layout);
    Vector e(n_d);
    e[0] = 2;
    EXPECT_FALSE(rule.wants_jacobian(e));
    e[0] = std::nextafter(2, 3);
    EXPECT_TRUE(rule.wants_jacobian(e));
    rule.update(random_e(), random_H(), theta);
    const Vector before = covariances(rule);
    rule.skip();
    Vector expected = before;
    if (q_when_gated)
      for (std::size_t i = 0, offset = 0; i < rule.block_count(); ++i)
        for (std::size_t n = 0; n < block_size(rule.block(i)); offset += ++n)
          expected[offset + n] += q;
    EXPECT_TRUE(same_bits(covariances(rule), expected));
  }
}

// With H = xᵀ, d = θᵀx + noise, q = 0 and one block the filter is Bayesian linear regression:
// θ = (XᵀX/r + I/p₁)⁻¹ Xᵀd/r, P = (XᵀX/r + I/p₁)⁻¹.
TEST_P(OneBlock, LinearModelIsRidgeRegression) {
  const double r = 0.3;
  const double p1 = 5;
  const std::size_t n = layout.size();
  BlockKalman rule = make(p1, r, 0);
  std::fill(theta.begin(), theta.end(), 0.0);
  const Vector truth = normals(rng, n);
  MatrixXd information = MatrixXd::Identity(n, n) / p1;
  VectorXd weighted = VectorXd::Zero(n);
  for (int t = 0; t < 300; ++t) {
    const Vector X = random_H();
    Vector e(n_d);
    for (std::size_t k = 0; k < n_d; ++k) {
      const Eigen::Map<const VectorXd> x(X.data() + k * n, n);
      const double d = x.dot(Eigen::Map<const VectorXd>(truth.data(), n)) + 0.5 * rng.normal();
      e[k] = d - x.dot(Eigen::Map<const VectorXd>(theta.data(), n));
      information += x * x.transpose() / r;
      weighted += x * d / r;
    }
    ASSERT_EQ(rule.update(e, X, theta), StepStatus::applied);
    if (t % 50 == 2 || t == 299) {
      const MatrixXd covariance = information.inverse();
      const VectorXd batch = covariance * weighted;
      EXPECT_LE(largest(Eigen::Map<const VectorXd>(theta.data(), n) - batch), 1e-11) << t;
      EXPECT_LE(largest(P(rule, 0) - covariance), 1e-12 * p1) << t;
    }
  }
}

TEST_P(Kalman, CloneAndResetStartOver) {
  BlockKalman rule = make(3, Schedule::linear(2, 1, 10), Schedule::exponential(1e-2, 1e-4, 5));
  const Vector fresh = covariances(rule);
  const AlignedVector theta0 = theta;
  Rng data(3);
  const auto run = [&](UpdateRule& one) {
    theta = theta0;
    data = Rng(3);
    for (int t = 0; t < 10; ++t)
      one.update(normals(data, n_d), normals(data, n_d * layout.size()), theta);
    return theta;
  };
  const auto clone = rule.clone();
  const AlignedVector first = run(rule);
  EXPECT_TRUE(same_bits(run(*clone), first));
  rule.reset();
  EXPECT_TRUE(same_bits(covariances(rule), fresh));
  EXPECT_TRUE(same_bits(run(rule), first));
}

std::string name(const testing::TestParamInfo<Setting>& one) {
  return std::string(to_string(one.param.partition)) + (one.param.shared ? "_shared" : "_own") +
         "_d" + std::to_string(one.param.n_d);
}
INSTANTIATE_TEST_SUITE_P(All, Kalman, testing::ValuesIn(settings([](Setting) { return true; })),
                         name);
INSTANTIATE_TEST_SUITE_P(All, OwnInnovation,
                         testing::ValuesIn(settings([](Setting s) { return !s.shared; })), name);
INSTANTIATE_TEST_SUITE_P(All, OneBlock, testing::ValuesIn(settings([](Setting s) {
                           return s.partition == Partition::full;
                         })),
                         name);

Vector weights_of(const Learner& learner) {
  const auto theta = dynamic_cast<const NetworkLearner&>(learner).weights();
  return {theta.begin(), theta.end()};
}

// hᵀPh < 0 along a direction in which rounding has made P indefinite: refused, whole, and mended,
// so that it is refused once and not for ever.
TEST(IndefiniteCovariance, IsNotLearntFromAndMended) {
  const ParameterLayout layout(test::small_network(2, 2, 1));
  const std::size_t n = layout.size();
  BlockKalman rule({.partition = Partition::full, .process_noise = 0, .noise_floor = 3}, layout);
  Rng rng(18);
  AlignedVector theta(n);
  VectorXd direction;
  double lowest = 0;
  for (int t = 0; t < 3000 && !(lowest < -1e-13); ++t) {
    rule.update(normals(rng, 1), normals(rng, n, 1e8), theta);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(dense(rule.covariance(0), n));
    lowest = solver.eigenvalues()(0);
    direction = solver.eigenvectors().col(0);
  }
  ASSERT_LT(lowest, -1e-13);  // without process noise it comes to this, beyond rounding of hᵀPh
  const AlignedVector theta_before = theta;
  const Vector P_before = rule.covariance(0);
  const VectorXd h = 1e12 * direction;
  EXPECT_EQ(rule.update(Vector{1}, {h.data(), n}, theta), StepStatus::rejected_covariance);
  EXPECT_TRUE(same_bits(theta, theta_before));
  EXPECT_LE(largest(dense(rule.covariance(0), n) - dense(P_before, n)), 1.01e-10 * 100);
  EXPECT_EQ(rule.update(Vector{1}, {h.data(), n}, theta), StepStatus::applied);
}

// The published real-data DEKF: gates as in DEKF, the output layer as in IEKF.
TEST(KalmanLearners, AnOutputApartIsDekfForTheGatesAndIekfForTheOutput) {
  const ParameterLayout layout(test::small_network(2, 3, 2));
  Rng rng(5);
  const AlignedVector start = test::aligned(normals(rng, layout.size(), 0.3));
  const Vector H = normals(rng, 2 * layout.size(), 1);
  const Vector e{0.4, -0.7};
  const auto updated = [&](bool shared, bool apart) {
    BlockKalman rule({.partition = Partition::node,
                      .shared_innovation = shared,
                      .output_apart = apart,
                      .initial_covariance = 2,
                      .process_noise = 0.01,
                      .noise_floor = 0.5},
                     layout);
    AlignedVector theta = start;
    EXPECT_EQ(rule.update(e, H, theta), StepStatus::applied);
    return theta;
  };
  const AlignedVector apart = updated(true, true);
  const AlignedVector dekf = updated(true, false);
  const AlignedVector iekf = updated(false, false);
  const auto gates = static_cast<std::ptrdiff_t>(layout.gate_weights());
  EXPECT_TRUE(std::equal(apart.begin(), apart.begin() + gates, dekf.begin()));
  EXPECT_TRUE(std::equal(apart.begin() + gates, apart.end(), iekf.begin() + gates));
  EXPECT_FALSE(std::equal(apart.begin() + gates, apart.end(), dekf.begin() + gates));
}

TEST(KalmanLearners, DekfAndIekfWithOneBlockAreTheEkf) {
  for (const std::size_t n_d : {1, 2, 3}) {
    const auto network = test::small_network(2, 3, n_d);
    const Schedule r = Schedule::linear(4, 2, 30);
    const Schedule q = Schedule::linear(1e-3, 1e-4, 30);
    const auto ekf = make_learner({network, Ekf{10, r, q}});
    const auto dekf = make_learner({network, Dekf{10, r, q, Partition::full}});
    const auto iekf = make_learner({network, Iekf{10, r, q, Partition::full}});
    const auto stream = test::random_stream(4, 2, n_d, 60);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      const double trace = ekf->learn(stream.x[t], stream.d[t]).covariance_trace;
      EXPECT_EQ(iekf->learn(stream.x[t], stream.d[t]).covariance_trace, trace);
      EXPECT_NEAR(dekf->learn(stream.x[t], stream.d[t]).covariance_trace, trace, 1e-12 * trace);
      ASSERT_TRUE(same_bits(weights_of(*iekf), weights_of(*ekf)));
      ASSERT_TRUE(test::near(weights_of(*dekf), weights_of(*ekf), 1e-12));
    }
  }
}

// Without hidden units d̂ = Wφ, φ = [1 ; x/√n], is linear in θ: at q = 0 the EKF is Bayesian linear
// regression from the prior N(W₁, p₁I), whatever the order of the samples:
// w_k = w_k,₁ + C Φᵀ(d_k − Φw_k,₁)/r and C = (ΦᵀΦ/r + I/p₁)⁻¹ for every output k.
TEST(KalmanLearners, EkfOfALinearNetworkIsBayesianLinearRegression) {
  for (const std::size_t n_d : {1, 2, 3}) {
    constexpr std::size_t n_x = 5;
    constexpr std::size_t length = 200;
    const double p1 = 7;
    const double r = 0.4;
    auto network = test::small_network(n_x, 0, n_d);
    network.cell = Cell::feedforward;
    network.direct = true;
    network.output_activation = OutputActivation::identity;
    const auto ekf = make_learner({network, Ekf{p1, r, 0}});
    const Vector start = weights_of(*ekf);
    ASSERT_EQ(start.size(), n_d * (n_x + 1));
    const MatrixXd W1 = Eigen::Map<const MatrixXd>(start.data(), n_x + 1, n_d);

    const auto stream = test::random_stream(12, n_x, n_d, length);
    MatrixXd Phi(length, n_x + 1);
    MatrixXd D(length, n_d);
    double trace = 0;
    for (std::size_t t = 0; t < length; ++t) {
      Phi(t, 0) = 1;
      for (std::size_t n = 0; n < n_x; ++n) Phi(t, n + 1) = stream.x[t][n] / std::sqrt(double(n_x));
      for (std::size_t k = 0; k < n_d; ++k) D(t, k) = stream.d[t][k];
      const auto report = ekf->learn(stream.x[t], stream.d[t]);
      ASSERT_EQ(report.status, StepStatus::applied);
      trace = report.covariance_trace;
    }
    const MatrixXd I = MatrixXd::Identity(n_x + 1, n_x + 1);
    const MatrixXd C = (Phi.transpose() * Phi / r + I / p1).inverse();
    const MatrixXd W = W1 + C * Phi.transpose() * (D - Phi * W1) / r;
    const Vector theta = weights_of(*ekf);
    EXPECT_LE(largest(Eigen::Map<const MatrixXd>(theta.data(), n_x + 1, n_d) - W), 1e-12);
    EXPECT_NEAR(trace, double(n_d) * C.trace(), 1e-12);
  }
}

// An error within the gate is worth as much as a missing target: θ, P and what follows.
TEST(KalmanLearners, AGatedStepIsAMissingTarget) {
  for (const Derivative derivative : {Derivative::tbptt, Derivative::rtrl})
    for (const Partition partition : {Partition::node, Partition::unit, Partition::full}) {
      auto network = test::small_network(2, 3, 2);
      network.derivative = derivative;
      Algorithm1 rule;
      rule.error_bound = 0.35;
      rule.partition = partition;
      const auto told = make_learner({network, rule});
      const auto not_told = told->clone();
      const auto stream = test::random_stream(8, 2, 2, 200);
      int gated = 0;
      for (std::size_t t = 0; t < stream.size(); ++t) {
        ASSERT_TRUE(same_bits(told->predict(stream.x[t]), not_told->predict(stream.x[t])));
        const Vector before = weights_of(*told);
        const auto report = told->learn(stream.x[t], stream.d[t]);
        if (report.status == StepStatus::gated) {
          ++gated;
          EXPECT_TRUE(same_bits(weights_of(*told), before));
          EXPECT_EQ(not_told->advance(stream.x[t]).covariance_trace, report.covariance_trace);
        } else {
          ASSERT_EQ(report.status, StepStatus::applied);
          not_told->learn(stream.x[t], stream.d[t]);
        }
      }
      EXPECT_GT(gated, 20);
      EXPECT_LT(gated, 180);
    }
}

// An update the rule rejects leaves the weights alone; the state moves on all the same.
TEST(KalmanLearners, ARejectedUpdateIsAMissingTarget) {
  Algorithm1 open_gate;
  open_gate.error_bound = 1e-9;
  const Rule rules[] = {Sgd{}, RmsProp{}, Adam{}, Ekf{}, Dekf{}, Iekf{}, open_gate};
  for (const Rule& rule : rules) {
    auto network = test::small_network(2, 3, 1);
    network.output_activation = OutputActivation::identity;
    const auto told = make_learner({network, rule});
    const auto not_told = told->clone();
    const auto stream = test::random_stream(9, 2, 1, 60);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      ASSERT_TRUE(same_bits(told->predict(stream.x[t]), not_told->predict(stream.x[t])));
      if (t % 7 == 3) {
        const Vector before = weights_of(*told);
        EXPECT_EQ(told->learn(stream.x[t], Vector{1e300}).status, StepStatus::rejected_non_finite);
        EXPECT_TRUE(same_bits(weights_of(*told), before));
        not_told->advance(stream.x[t]);
      } else {
        EXPECT_EQ(told->learn(stream.x[t], stream.d[t]).status, StepStatus::applied);
        not_told->learn(stream.x[t], stream.d[t]);
      }
    }
  }
}

}  // namespace
}  // namespace kalstream
