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

class CovarianceTest : public testing::TestWithParam<Partition> {
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
  Covariance P{layout.blocks(GetParam()), n_d, 1};
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
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-13) << i;
    trace += expected.trace();
  }
  EXPECT_NEAR(P.trace(), trace, 1e-12 * trace);
}

TEST_P(CovarianceTest, KnowsWhereWeightsAre) {
  const Vector H = normals(rng, n_d * layout.size());
  P.multiply(H);
  for (const BlockGroup& g : P.groups())
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      const MatrixXd H_i = part(H, g.first_block + lane);
      const MatrixXd S = H_i * dense(P, g.first_block + lane) * H_i.transpose();
      EXPECT_NEAR(P.S(g)[lane], S(0, 0), 1e-12);
      EXPECT_NEAR(P.S(g)[n_d * kernels::width + lane], S(1, 0), 1e-12);
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
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-13) << i;
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
    EXPECT_LE((dense(P, i) - factor * before[i]).cwiseAbs().maxCoeff(), 1e-15) << i;
    trace += factor * before[i].trace();
  }
  EXPECT_NEAR(P.trace(), trace, 1e-12 * trace);
}

TEST_P(CovarianceTest, GainsOnTheDiagonalOnly) {
  const auto before = all();
  P.add(0.5);
  P.inflate(0.25);
  for (std::size_t i = 0; i < before.size(); ++i) {
    MatrixXd expected = before[i];
    expected.diagonal() = 1.25 * (before[i].diagonal().array() + 0.5);
    EXPECT_LE((dense(P, i) - expected).cwiseAbs().maxCoeff(), 1e-14) << i;
  }
}

TEST_P(CovarianceTest, KeepsPossibleCorrelations) {
  P.multiply(Vector(n_d * layout.size()));
  const auto before = all();
  P.drop_impossible_correlations();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(dense(P, i), before[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Partitions, CovarianceTest,
                         testing::Values(Partition::node, Partition::unit, Partition::gate,
                                         Partition::full));

}  // namespace
}  // namespace kalstream
