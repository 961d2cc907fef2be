// A Kalman rule must run for years: no growth without bound, no end of learning.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "kalstream/learner.h"
#include "kalstream/snapshot.h"
#include "support.h"
#include "update/block_kalman.h"
#include "update/first_order.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::normals;
using test::Vector;

constexpr std::uint64_t first_return = Longevity::first_return;

MatrixXd covariance(const BlockKalman& rule, std::size_t i) {
  const auto n = static_cast<Eigen::Index>(block_size(rule.block(i)));
  const Vector packed = rule.covariance(i);
  MatrixXd P(n, n);
  for (Eigen::Index r = 0, k = 0; r < n; ++r)
    for (Eigen::Index c = 0; c <= r; ++c, ++k)
      P(r, c) = P(c, r) = packed[static_cast<std::size_t>(k)];
  return P;
}

double least_eigenvalue(const BlockKalman& rule) {
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < rule.block_count(); ++i)
    least = std::min(
        least, Eigen::SelfAdjointEigenSolver<MatrixXd>(covariance(rule, i), Eigen::EigenvaluesOnly)
                   .eigenvalues()(0));
  return least;
}

// The textbook update, block by block with dense matrices, and P_i/2 before an update whose number
// divides by 64 if a variance has reached max(2p₁, 10,000q).
TEST(LimitedGrowth, HalvesTheBlocksThatHaveGrown) {
  const double p1 = 1;
  const double r = 0.7;
  const Schedule q = Schedule::linear(1e-2, 1e-9, 300);  // Σq = 1.5
  for (const Partition partition : {Partition::node, Partition::unit, Partition::full})
    for (const std::size_t n_d : {1, 2}) {
      const ParameterLayout layout(test::small_network(2, 3, n_d));
      const std::size_t n_theta = layout.size();
      BlockKalman rule(
          {.partition = partition, .initial_covariance = p1, .process_noise = q, .noise_floor = r},
          layout);
      std::vector<MatrixXd> P;
      for (std::size_t i = 0; i < rule.block_count(); ++i) P.push_back(covariance(rule, i));
      Rng rng(4);
      AlignedVector theta = test::aligned(normals(rng, n_theta));
      int halved = 0;
      for (std::uint64_t t = 0; t < 500; ++t) {
        Vector H = normals(rng, n_d * n_theta, 0.3);
        for (std::size_t k = 0; k < n_d; ++k)  // some weights learn nothing, some blocks, too
          for (std::size_t n = 0; n < 60; ++n)
            if (n < 40 || n % 5 == 0) H[k * n_theta + n] = 0;
        ASSERT_EQ(rule.update(normals(rng, n_d), H, theta), StepStatus::applied);
        for (std::size_t i = 0; i < P.size(); ++i) {
          const auto n = P[i].rows();
          MatrixXd H_i(n_d, n);
          for (std::size_t k = 0; k < n_d; ++k) {
            Eigen::Index column = 0;
            for (const Segment& s : rule.block(i))
              for (std::size_t m = 0; m < s.length; ++m)
                H_i(static_cast<Eigen::Index>(k), column++) = H[k * n_theta + s.offset + m];
          }
          const MatrixXd S = H_i * P[i] * H_i.transpose() + r * MatrixXd::Identity(n_d, n_d);
          P[i] -= P[i] * H_i.transpose() * S.inverse() * H_i * P[i];
          P[i] += q.at(t) * MatrixXd::Identity(n, n);
          if ((t + 1) % 64 == 0 &&
              P[i].diagonal().maxCoeff() >= std::max(2 * p1, 1e4 * q.at(t + 1))) {
            P[i] /= 2;
            ++halved;
          }
          if (t % 50 == 49 || (t > 310 && t < 340)) {
            ASSERT_LE((covariance(rule, i) - P[i]).cwiseAbs().maxCoeff(), 1e-12) << t;
          }
        }
      }
      EXPECT_GT(halved, 0);
      if (partition == Partition::node) {
        EXPECT_LT(halved, static_cast<int>(P.size()));
      }
    }
}

// Where nothing excites a weight, its variance stays bounded; where something does, it settles
// where it would without a bound: p²h²/(ph² + r) = q.
TEST(LimitedGrowth, TakesNothingFromWeightsThatLearn) {
  const double p1 = 1;
  const double r = 1;
  const double q = 1e-3;
  const ParameterLayout layout(test::small_network(1, 1, 1));
  BlockKalman rule({.partition = Partition::full,
                    .initial_covariance = p1,
                    .process_noise = q,
                    .noise_floor = r},
                   layout);
  AlignedVector theta(layout.size());
  Vector H(layout.size());
  H[3] = 1;
  const double steady = (q + std::sqrt(q * q + 4 * q * r)) / 2 + q;
  double largest = 0;
  int near_steady = 0;
  constexpr int steps = 100'000;
  for (int t = 0; t < steps; ++t) {
    ASSERT_EQ(rule.update(Vector{0.1}, H, theta), StepStatus::applied);
    if (t % 50 != 0) continue;
    const MatrixXd P = covariance(rule, 0);
    largest = std::max(largest, P.diagonal().maxCoeff());
    near_steady += P(3, 3) > 0.9 * steady && P(3, 3) < 1.1 * steady ? 1 : 0;
  }
  EXPECT_LT(largest, 1e4 * q + 64 * q);
  EXPECT_GT(largest, 0.9e4 * q);
  EXPECT_GT(near_steady, 0.95 * steps / 50);
}

// From the first return on, every 64th update: the textbook update, then one weight of every block
// is measured to be 0. Skipped samples count, and are the fast way there.
TEST(ReturnToPrior, MeasuresOneWeightOfEveryBlockToBeZero) {
  const double p1 = 2;
  const double r = 0.7;
  for (const double q : {1e-4, 1e-2})  // v = p²/c − p, and p where that is less
    for (const Partition partition : {Partition::node, Partition::unit, Partition::full})
      for (const std::size_t n_d : {1, 2}) {
        const ParameterLayout layout(test::small_network(2, 3, n_d));
        const std::size_t n_theta = layout.size();
        BlockKalman rule({.partition = partition,
                          .initial_covariance = p1,
                          .process_noise = q,
                          .noise_floor = r},
                         layout);
        Rng rng(5);
        AlignedVector theta = test::aligned(normals(rng, n_theta));
        for (std::uint64_t t = 0; t < first_return - 100; ++t) rule.skip();
        int returned = 0;
        for (std::uint64_t t = first_return - 100; t < first_return + 500; ++t) {
          const Vector H = normals(rng, n_d * n_theta, 0.3);
          const Vector e = normals(rng, n_d, 0.1);
          std::vector<MatrixXd> P;
          for (std::size_t i = 0; i < rule.block_count(); ++i) P.push_back(covariance(rule, i));
          const AlignedVector expected = theta;
          ASSERT_EQ(rule.update(e, H, theta), StepStatus::applied);
          const bool returns = t + 1 >= first_return && (t + 1) % 64 == 0;
          returned += returns ? 1 : 0;
          for (std::size_t i = 0; i < P.size(); ++i) {
            const auto n = P[i].rows();
            std::vector<std::size_t> places;
            for (const Segment& s : rule.block(i))
              for (std::size_t m = 0; m < s.length; ++m) places.push_back(s.offset + m);
            MatrixXd H_i(n_d, n);
            VectorXd theta_i(n);
            for (Eigen::Index m = 0; m < n; ++m) {
              const std::size_t place = places[static_cast<std::size_t>(m)];
              theta_i(m) = expected[place];
              for (std::size_t k = 0; k < n_d; ++k)
                H_i(static_cast<Eigen::Index>(k), m) = H[k * n_theta + place];
            }
            const MatrixXd S = H_i * P[i] * H_i.transpose() + r * MatrixXd::Identity(n_d, n_d);
            const MatrixXd G = P[i] * H_i.transpose() * S.inverse();
            theta_i += G * Eigen::Map<const VectorXd>(e.data(), static_cast<Eigen::Index>(n_d));
            P[i] -= G * H_i * P[i];
            P[i] += q * MatrixXd::Identity(n, n);
            if (returns) {
              const double c = 64 * static_cast<double>(n) * q;
              const double p = p1 / 2;
              const double v = std::max(p * p / c - p, p);
              const auto k = static_cast<Eigen::Index>((t + 1) / 64) % n;
              const VectorXd g = P[i].col(k) / (P[i](k, k) + v);
              theta_i -= g * theta_i(k);
              P[i] -= g * P[i].row(k).eval();
            }
            ASSERT_LE((covariance(rule, i) - P[i]).cwiseAbs().maxCoeff(), 1e-12) << t;
            for (Eigen::Index m = 0; m < n; ++m)
              ASSERT_NEAR(theta[places[static_cast<std::size_t>(m)]], theta_i(m), 1e-12) << t;
          }
        }
        EXPECT_EQ(returned, 8);
      }
}

// Weights that no sample excites go to 0, their variance to p₁/2; one that learns hardly notices.
TEST(ReturnToPrior, TakesBackWeightsThatLearnNothing) {
  const double p1 = 1;
  const double q = 1e-4;
  const ParameterLayout layout(test::small_network(1, 1, 1));
  BlockKalman rule({.partition = Partition::full,
                    .initial_covariance = p1,
                    .process_noise = q,
                    .noise_floor = 1},
                   layout);
  for (std::uint64_t t = 0; t < first_return; ++t) rule.skip();
  AlignedVector theta(layout.size(), 3.0);
  Vector H(layout.size());
  H[3] = 1;
  for (int t = 0; t < 100'000; ++t)
    ASSERT_EQ(rule.update(Vector{5 - theta[3]}, H, theta), StepStatus::applied);
  const MatrixXd P = covariance(rule, 0);
  const double steady = (q + std::sqrt(q * q + 4 * q)) / 2 + q;
  for (std::size_t n = 0; n < theta.size(); ++n) {
    const auto k = static_cast<Eigen::Index>(n);
    EXPECT_NEAR(P(k, k), n == 3 ? steady : p1 / 2, n == 3 ? 0.01 * steady : 0.1 * p1);
    EXPECT_NEAR(theta[n], n == 3 ? 5.0 : 0.0, 0.01);
  }
}

// RMSprop and Adam: the textbook's steps until the prior of the Kalman rules returns, then with
// 3e-5 θ in the gradient.
TEST(ReturnToPrior, PullsTheWeightsOfFirstOrderRules) {
  const ParameterLayout layout(test::small_network(1, 1, 1));
  const std::size_t n = layout.size();
  Rng rng(7);
  const auto rule = make_rule(Adam{.learning_rate = 0.01}, layout);
  const auto root_rule = make_rule(RmsProp{.learning_rate = 0.01}, layout);
  AlignedVector theta = test::aligned(normals(rng, n));
  AlignedVector root_theta = theta;
  const Vector nothing(n);
  const std::uint64_t before = first_return - 100;
  for (std::uint64_t t = 0; t < before; ++t) {
    ASSERT_EQ(rule->update(Vector{0}, nothing, theta), StepStatus::applied);
    ASSERT_EQ(root_rule->update(Vector{0}, nothing, root_theta), StepStatus::applied);
  }
  const Adam adam;
  const RmsProp rmsprop;
  Vector m(n);
  Vector v(n);
  Vector root_v(n);
  for (std::uint64_t t = before + 1; t < before + 500; ++t) {
    const Vector H = normals(rng, n, 0.3);
    const double e = 0.1 * rng.normal();
    AlignedVector expected = theta;
    AlignedVector root_expected = root_theta;
    ASSERT_EQ(rule->update(Vector{e}, H, theta), StepStatus::applied);
    ASSERT_EQ(root_rule->update(Vector{e}, H, root_theta), StepStatus::applied);
    const double pull = t >= first_return ? 3e-5 : 0;
    for (std::size_t k = 0; k < n; ++k) {
      const double g = -e * H[k] + pull * expected[k];
      m[k] = adam.first_decay * m[k] + (1 - adam.first_decay) * g;
      v[k] = adam.second_decay * v[k] + (1 - adam.second_decay) * g * g;
      expected[k] -= 0.01 * m[k] / (1 - std::pow(adam.first_decay, static_cast<double>(t))) /
                     (std::sqrt(v[k] / (1 - std::pow(adam.second_decay, static_cast<double>(t)))) +
                      adam.epsilon);
      const double root_g = -e * H[k] + pull * root_expected[k];
      root_v[k] = rmsprop.decay * root_v[k] + (1 - rmsprop.decay) * root_g * root_g;
      root_expected[k] -= 0.01 * root_g / (std::sqrt(root_v[k]) + rmsprop.epsilon);
      ASSERT_NEAR(theta[k], expected[k], 1e-12) << t;
      ASSERT_NEAR(root_theta[k], root_expected[k], 1e-12) << t;
    }
  }
}

// To be asked for its spread, or to be saved and loaded, makes no difference to a learner whose
// prior returns.
TEST(ReturnToPrior, GoesOnFromASnapshot) {
  auto network = test::small_network(1, 1, 1);
  network.window = 1;
  const auto learner = make_learner({network, Iekf{.partition = Partition::node}});
  Rng rng(6);
  const auto learn = [](Learner& one, double x) {
    return one.learn(Vector{x}, Vector{0.5 * std::tanh(x)}).covariance_trace;
  };
  for (std::uint64_t t = 0; t < first_return - 100; ++t) learn(*learner, rng.normal());
  auto stopped = learner->clone();
  const auto asked = learner->clone();
  for (std::uint64_t t = first_return - 100; t < first_return + 400; ++t) {
    const double x = rng.normal();
    if (t % 16 == 0) stopped = load(save(*stopped));
    asked->predict(Vector{x});
    asked->spread();
    const double trace = learn(*learner, x);
    ASSERT_EQ(learn(*stopped, x), trace) << t;
    ASSERT_EQ(learn(*asked, x), trace) << t;
    ASSERT_EQ(asked->predict(Vector{0.3})[0], learner->predict(Vector{0.3})[0]) << t;
  }
}

// A loaded learner halves when the one that was never stopped does.
TEST(LimitedGrowth, GoesOnFromASnapshot) {
  auto network = test::small_network(1, 1, 1);
  network.window = 1;
  Algorithm1 rule;
  rule.initial_covariance = 0.1;
  rule.process_noise = 1e-5;
  rule.error_bound = 0.02;
  rule.process_noise_when_gated = true;
  auto stopped = make_learner({network, rule});
  const auto learner = stopped->clone();
  Rng rng(8);
  double last = 0;
  int falls = 0;
  for (int t = 0; t < 25'000; ++t) {
    const Vector x{t < 1000 ? rng.normal() : 0.1};
    const Vector d{0.5 * std::tanh(x[0])};
    if (t % 1000 == 999) stopped = load(save(*stopped));
    const double trace = learner->learn(x, d).covariance_trace;
    ASSERT_EQ(stopped->learn(x, d).covariance_trace, trace) << t;
    falls += t > 1000 && trace < 0.6 * last ? 1 : 0;
    last = trace;
  }
  EXPECT_GT(falls, 0);
}

struct Life {
  double r;
  double q;
  double noise_factor;
  int steps;
};

// All directions are excited, then only one, then all again: P stays a covariance within rounding,
// and no rule ends up refusing every update.
TEST(LongRun, CovariancesSurviveVanishingExcitation) {
  const double p1 = 100;
  const ParameterLayout layout(test::small_network(1, 1, 1));
  const std::size_t n = layout.size();
  for (const Life& life :
       {Life{1e-9, 0, 0, 1'000'000}, Life{3, 0, 0, 200'000}, Life{1e-9, 1e-8, 0, 200'000},
        Life{0, 0, 3, 200'000}, Life{0, 1e-7, 3, 200'000}}) {
    const std::string what = "r " + std::to_string(life.r) + ", q " + std::to_string(life.q);
    BlockKalman rule({.partition = Partition::full,
                      .initial_covariance = p1,
                      .process_noise = life.q,
                      .noise_floor = life.r,
                      .noise_factor = life.noise_factor},
                     layout);
    Rng rng(11);
    const Vector target = normals(rng, n);
    AlignedVector theta(n);
    Vector H = normals(rng, n);
    int late_updates = 0;
    for (int t = 0; t < life.steps; ++t) {
      const int tenth = 10 * t / life.steps;
      if (tenth < 4 || tenth == 9)
        for (double& h : H) h = rng.uniform(-1, 1);
      else
        for (double& h : H) h *= t % 1000 == 0 ? -1 : 1;
      double e = 1e-6 * (rng.uniform(-1, 1));
      for (std::size_t k = 0; k < n; ++k) e += H[k] * (target[k] - theta[k]);
      const StepStatus status = rule.update(Vector{e}, H, theta);
      late_updates += tenth == 9 && status == StepStatus::applied ? 1 : 0;
      if (t % (life.steps / 50) == 0) {
        ASSERT_GT(least_eigenvalue(rule), -1e-10 * rule.covariance_trace()) << what << ", " << t;
        ASSERT_LE(rule.covariance_trace(), 2.01 * p1 * double(n)) << what << ", " << t;
      }
    }
    EXPECT_GT(late_updates, 0.099 * life.steps) << what;
    for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(theta[k], target[k], 1e-3) << what;
  }
}

}  // namespace
}  // namespace kalstream
