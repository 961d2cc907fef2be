// P as it is stored against P as it is written down, for blocks interleaved and in tiles.
#include "update/covariance.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "support.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::normals;
using test::Vector;

constexpr std::size_t n_d = 2;

MatrixXd dense(const Covariance& P, std::size_t i) {
  const auto n = static_cast<Eigen::Index>(block_size(P.groups().blocks()[i]));
  const Vector packed = P.block(i);
  MatrixXd full(n, n);
  for (Eigen::Index r = 0, k = 0; r < n; ++r)
    for (Eigen::Index c = 0; c <= r; ++c, ++k)
      full(r, c) = full(c, r) = packed[static_cast<std::size_t>(k)];
  return full;
}

struct CovarianceKind {
  Partition partition;
  Precision precision = Precision::twofold;
};

class CovarianceTest : public testing::TestWithParam<CovarianceKind> {
 protected:
  CovarianceTest() {
    P.reset(2);
    for (int t = 0; t < 3; ++t) step(normals(rng, n_d * layout.size(), 0.4), 0);
  }

  // P − WWᵀ + qI with S = HPHᵀ + I.
  void step(const Vector& H, double q) {
    P.multiply(H);
    const Vector e(n_d);
    Vector u(n_d * kernels::width);
    double trace = 0;
    for (const BlockGroup& g : P.groups()) {
      ASSERT_EQ(kernels::active().factor(n_d, e.data(), 1, 0, -1, P.S(g).data(), u.data()), 0);
      ASSERT_EQ(P.propose(g, P.S(g), q, trace), 0);
    }
    P.accept(trace);
  }

  std::vector<MatrixXd> all() const {
    std::vector<MatrixXd> blocks;
    for (std::size_t i = 0; i < P.groups().blocks().size(); ++i) blocks.push_back(dense(P, i));
    return blocks;
  }

  // Block i's columns of H.
  MatrixXd part(const Vector& H, std::size_t i) const {
    const std::size_t n = block_size(P.groups().blocks()[i]);
    MatrixXd H_i(n_d, n);
    for (std::size_t d = 0; d < n_d; ++d)
      for (std::size_t k = 0; k < n; ++k)
        H_i(static_cast<Eigen::Index>(d), static_cast<Eigen::Index>(k)) =
            H[d * layout.size() + P.groups().place_in_theta(i, k)];
    return H_i;
  }

  Rng rng{11};
  ParameterLayout layout{test::small_network(3, 4, n_d)};
  Covariance P{layout.blocks(GetParam().partition), n_d, 1, GetParam().precision};
  const double rounding = GetParam().precision == Precision::single ? 1e7 : 1;  // of the usual one
};

TEST_P(CovarianceTest, IsDowndatedAsTheEquationSays) {
  const auto before = all();
  const Vector H = normals(rng, n_d * layout.size(), 0.4);
  const double q = 0.01;
  step(H, q);
  double trace = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const MatrixXd H_i = part(H, i);
    const MatrixXd S = H_i * before[i] * H_i.transpose() + MatrixXd::Identity(n_d, n_d);
    const MatrixXd V = before[i] * H_i.transpose();
    const auto n = before[i].rows();
    const MatrixXd expected =
        before[i] - V * S.inverse() * V.transpose() + q * MatrixXd::Identity(n, n);
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-13 * rounding) << i;
    trace += expected.trace();
  }
  EXPECT_NEAR(P.trace(), trace, 1e-12 * rounding * trace);
}

TEST_P(CovarianceTest, KnowsWhereWeightsAre) {
  const Vector H = normals(rng, n_d * layout.size());
  P.multiply(H);
  for (const BlockGroup& g : P.groups())
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      const MatrixXd H_i = part(H, g.first_block + lane);
      const MatrixXd S = H_i * dense(P, g.first_block + lane) * H_i.transpose();
      EXPECT_NEAR(P.S(g)[lane], S(0, 0), 1e-12 * rounding);
      EXPECT_NEAR(P.S(g)[n_d * kernels::width + lane], S(1, 0), 1e-12 * rounding);
    }
}

TEST_P(CovarianceTest, MeasuresSingleWeights) {
  const auto before = all();
  const double v = 0.3;
  P.start_measuring();
  for (const BlockGroup& g : P.groups()) {
    std::array<double, kernels::width> roots;
    ASSERT_TRUE(P.propose_measurement(g, g.n - 1, v, roots));
  }
  P.accept_measurements();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const VectorXd column = before[i].rightCols(1);
    const double p_kk = column(column.size() - 1);
    const MatrixXd expected = before[i] - column * column.transpose() / (p_kk + v);
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-13 * rounding) << i;
  }
}

// A downdate waits when P is halved, and must not be lost.
TEST_P(CovarianceTest, HalvesOnlyBlocksThatReachTheLimit) {
  const auto before = all();
  double limit = 0;
  for (const MatrixXd& block : before) limit = std::max(limit, block.diagonal().maxCoeff());
  P.halve_from(limit);
  double trace = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double factor = before[i].diagonal().maxCoeff() >= limit ? 0.5 : 1;
    EXPECT_LE((dense(P, i) - factor * before[i]).cwiseAbs().maxCoeff(), 1e-15 * rounding) << i;
    trace += factor * before[i].trace();
  }
  EXPECT_NEAR(P.trace(), trace, 1e-12 * rounding * trace);
}

TEST_P(CovarianceTest, GainsOnTheDiagonalOnly) {
  const auto before = all();
  P.add(0.5);
  P.inflate(0.25);
  for (std::size_t i = 0; i < before.size(); ++i) {
    MatrixXd expected = before[i];
    expected.diagonal() = 1.25 * (before[i].diagonal().array() + 0.5);
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-14 * rounding) << i;
  }
}

TEST_P(CovarianceTest, KeepsPossibleCorrelations) {
  P.multiply(Vector(n_d * layout.size()));
  const auto before = all();
  P.drop_impossible_correlations();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(dense(P, i), before[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Partitions, CovarianceTest,
                         testing::Values(CovarianceKind{Partition::node},
                                         CovarianceKind{Partition::unit},
                                         CovarianceKind{Partition::gate},
                                         CovarianceKind{Partition::full},
                                         CovarianceKind{Partition::full, Precision::single}));

// Thousands of steps with the process noise that auto's networks have: P of single precision stays
// a covariance, and close to that of double precision.
TEST(SinglePrecision, IsHarmlessWithProcessNoise) {
  const ParameterLayout layout(test::small_network(6, 6, 1));
  Rng rng(5);
  Covariance twofold(layout.blocks(Partition::full), 1, 1);
  Covariance single(layout.blocks(Partition::full), 1, 1, Precision::single);
  Vector usual = normals(rng, layout.size(), 0.3);
  for (Covariance* P : {&twofold, &single}) P->reset(1);
  const std::size_t steps = 20'000 / test::one_in(20);
  for (std::size_t t = 0; t < steps; ++t) {
    // What a network sees is much the same from one sample to the next.
    const Vector news = normals(rng, layout.size(), 0.1);
    for (std::size_t k = 0; k < usual.size(); ++k) usual[k] = 0.99 * usual[k] + news[k];
    for (Covariance* P : {&twofold, &single}) {
      P->multiply(usual);
      const BlockGroup& g = P->groups()[0];
      const double e = 0;
      Vector u(kernels::width);
      double trace = 0;
      ASSERT_EQ(kernels::active().factor(1, &e, 0.1, 0.5, -1, P->S(g).data(), u.data()), 0) << t;
      ASSERT_EQ(P->propose(g, P->S(g), 1e-5, trace), 0) << t;
      P->accept(trace);
    }
  }
  const MatrixXd expected = dense(twofold, 0);
  EXPECT_LE((dense(single, 0) - expected).norm(), 2e-3 * expected.norm());
  const Eigen::SelfAdjointEigenSolver<MatrixXd> of_single(dense(single, 0));
  EXPECT_GT(of_single.eigenvalues()(0), 0);
}

}  // namespace
}  // namespace kalstream
