// An EKF so large that threads may share its steps.
#include <gtest/gtest.h>

#include "kalstream/learner.h"
#include "support.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

using test::normals;
using test::same_bits;
using test::Vector;

const ParameterLayout layout(test::small_network(16, 25, 2));  // 4252 weights

BlockKalman rule_of(std::size_t threads) {
  return {{.partition = Partition::full,
           .initial_covariance = 2,
           .process_noise = 1e-3,
           .noise_floor = 0.5,
           .threads = threads},
          layout};
}

// Two outputs, several steps, a rejected one among them.
AlignedVector run(UpdateRule& rule) {
  Rng rng(3);
  AlignedVector theta = test::aligned(normals(rng, layout.size()));
  for (int t = 0; t < 4; ++t) {
    Vector H = normals(rng, layout.n_d * layout.size(), 0.1);
    if (t == 2) H[7] = std::numeric_limits<double>::infinity();
    rule.update(normals(rng, layout.n_d), H, theta);
  }
  theta.push_back(rule.covariance_trace());
  return theta;
}

TEST(EkfThreads, DoNotChangeResults) {
  ASSERT_GT(layout.size(), 4000U);
  BlockKalman one = rule_of(1);
  const AlignedVector expected = run(one);
  for (const std::size_t threads : {2, 3, 40}) {
    BlockKalman several = rule_of(threads);
    const auto clone = several.clone();
    EXPECT_TRUE(same_bits(run(several), expected)) << threads;
    if (threads == 3) {
      EXPECT_TRUE(same_bits(run(*clone), expected));
      several.reset();
      EXPECT_TRUE(same_bits(run(several), expected));
    }
  }
}

// The parts of a large block add up to the same filter as a block in one part.
TEST(EkfThreads, PartsAddUpToTheWhole) {
  BlockKalman rule = rule_of(2);
  Rng rng(3);
  AlignedVector theta(layout.size());
  const Vector e{1, -1};
  Vector h = normals(rng, 2 * layout.size(), 0.1);
  ASSERT_EQ(rule.update(e, h, theta), StepStatus::applied);
  // P = 2I at first: S = 2HHᵀ + rI, θ = 2HᵀS⁻¹e, P = 2I − 4HᵀS⁻¹H + qI.
  const std::size_t n = layout.size();
  const double* h0 = h.data();
  const double* h1 = h.data() + n;
  double a = 0.5, b = 0, c = 0.5;
  for (std::size_t k = 0; k < n; ++k) {
    a += 2 * h0[k] * h0[k];
    b += 2 * h0[k] * h1[k];
    c += 2 * h1[k] * h1[k];
  }
  const double det = a * c - b * b;
  // S⁻¹ = [c −b; −b a]/det.
  for (std::size_t k = 0; k < n; ++k)
    EXPECT_NEAR(theta[k], 2 * (h0[k] * (c + b) - h1[k] * (b + a)) / det, 1e-14);
  // A second step sees the first one's P in every part of it.
  const Vector g = normals(rng, 2 * n, 0.1);
  const AlignedVector theta_before = theta;
  ASSERT_EQ(rule.update(e, g, theta), StepStatus::applied);
  const auto P_times = [&](const double* x, Vector& out) {
    double x0 = 0, x1 = 0;
    for (std::size_t k = 0; k < n; ++k) {
      x0 += h0[k] * x[k];
      x1 += h1[k] * x[k];
    }
    const double s0 = 4 * (c * x0 - b * x1) / det;
    const double s1 = 4 * (a * x1 - b * x0) / det;
    for (std::size_t k = 0; k < n; ++k) out[k] = (2 + 1e-3) * x[k] - h0[k] * s0 - h1[k] * s1;
  };
  Vector v0(n), v1(n);
  P_times(g.data(), v0);
  P_times(g.data() + n, v1);
  double A = 0.5, B = 0, C = 0.5;
  for (std::size_t k = 0; k < n; ++k) {
    A += g[k] * v0[k];
    B += g[k] * v1[k];
    C += g[n + k] * v1[k];
  }
  const double Det = A * C - B * B;
  for (std::size_t k = 0; k < n; ++k)
    EXPECT_NEAR(theta[k] - theta_before[k], (v0[k] * (C + B) - v1[k] * (B + A)) / Det, 1e-13);
}

TEST(EkfThreads, AnOptionOfTheEkf) {
  Ekf rule;
  rule.threads = 2;
  const auto network = test::small_network(16, 25, 1);
  const auto two = make_learner({network, rule});
  const auto one = make_learner({network, Ekf{}});
  const auto stream = test::random_stream(4, 16, 1, 3);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    EXPECT_TRUE(same_bits(two->predict(stream.x[t]), one->predict(stream.x[t])));
    two->learn(stream.x[t], stream.d[t]);
    one->learn(stream.x[t], stream.d[t]);
  }
  rule.threads = 0;
  EXPECT_THROW(make_learner({network, rule}), std::invalid_argument);
}

}  // namespace
}  // namespace kalstream
