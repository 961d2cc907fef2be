#include "classes/class_stack.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "classes/class_test_support.h"
#include "classes/probabilities.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Vector;

ClassStack::Plan plan_of(std::size_t features, double process_noise) {
  return {.weights = Vector(features, 1 / static_cast<double>(features)),
          .deviations = Vector(features, 0.3),
          .process_noise = process_noise};
}

/// The same in information form, with dense matrices: the Hessian V of the log loss by the scores z
/// is diag(p) − ppᵀ; where the class y was so improbable that a full Newton step would go too far,
/// it is larger in the direction of the error (src/loss/loss_function.cc).
class SlowStack {
 public:
  SlowStack(std::size_t classes, const ClassStack::Plan& plan)
      : classes_(classes), features_(plan.weights.size()), q_(plan.process_noise) {
    const auto n = static_cast<Eigen::Index>(features_ + outputs());
    theta_ = VectorXd::Zero(n);
    P_ = MatrixXd::Identity(n, n) * plan.bias * plan.bias;
    for (std::size_t j = 0; j < features_; ++j) {
      const auto i = static_cast<Eigen::Index>(j);
      theta_(i) = plan.weights[j];
      P_(i, i) = plan.deviations[j] * plan.deviations[j];
    }
  }

  Vector predict(const Vector& f) {
    const auto m = static_cast<Eigen::Index>(outputs());
    H_ = MatrixXd::Zero(m, theta_.size());
    for (Eigen::Index k = 0; k < m; ++k) {
      for (std::size_t j = 0; j < features_; ++j)
        H_(k, static_cast<Eigen::Index>(j)) =
            classes_ == 2 ? f[2 * j + 1] - f[2 * j] : f[j * classes_ + static_cast<std::size_t>(k)];
      H_(k, static_cast<Eigen::Index>(features_) + k) = 1;
    }
    const VectorXd z = H_ * theta_;
    Vector p(z.begin(), z.end());
    if (classes_ == 2) p.insert(p.begin(), 0.0);
    softmax(p);
    p_ = p;
    return p;
  }

  void learn(std::size_t y) {
    const std::size_t first = classes_ == 2 ? 1 : 0;
    const auto m = static_cast<Eigen::Index>(outputs());
    VectorXd p(m);
    VectorXd e(m);
    for (Eigen::Index k = 0; k < m; ++k) {
      const std::size_t c = first + static_cast<std::size_t>(k);
      p(k) = p_[c];
      e(k) = (y == c ? 1 : 0) - p_[c];
    }
    const double a = (1 - p_[y]) / p_[y];
    const double growth = std::max(1.0, (1 + a) / (2 + std::log(std::max(a, 1.0))));
    MatrixXd V = p.asDiagonal();
    V += -p * p.transpose() + (growth - 1) / a * e * e.transpose();
    P_ = (P_.inverse() + H_.transpose() * V * H_).inverse();
    theta_ += P_ * H_.transpose() * e;
    P_ += q_ * MatrixXd::Identity(P_.rows(), P_.cols());
  }

 private:
  std::size_t outputs() const { return classes_ == 2 ? 1 : classes_; }

  std::size_t classes_;
  std::size_t features_;
  double q_;
  VectorXd theta_;
  MatrixXd P_;
  MatrixXd H_;
  Vector p_;
};

// The first feature is larger for the class that it is, the others tell nothing.
Vector features_of(Rng& rng, std::size_t features, std::size_t classes, std::size_t y) {
  Vector f = test::normals(rng, features * classes);
  f[y] += 2;
  return f;
}

TEST(ClassStack, IsTheKalmanFilterOfALogisticRegression) {
  for (const std::size_t classes : {2, 3, 5})
    for (const double q : {0.0, 1e-3}) {
      Rng rng(classes);
      const ClassStack::Plan plan = plan_of(3, q);
      ClassStack stack(classes, plan);
      SlowStack slow(classes, plan);
      for (int t = 0; t < 400; ++t) {
        const auto y = static_cast<std::size_t>(rng.below(classes));
        const Vector f = features_of(rng, 3, classes, y);
        Vector p(classes);
        stack.predict(f, p);
        ASSERT_TRUE(test::are_probabilities(p));
        ASSERT_TRUE(test::near(p, slow.predict(f), 1e-8)) << t;
        stack.learn(y);
        slow.learn(y);
      }
    }
}

// Two experts that know different things: together they are better than each of them.
TEST(ClassStack, IsBetterThanExpertsThatKnowDifferentThings) {
  Rng rng(4);
  ClassStack stack(2, plan_of(2, 0));
  Vector losses(3, 0.0);
  for (int t = 0; t < 1500; ++t) {
    const Vector z = test::normals(rng, 2, 2);
    const std::size_t y = rng.uniform() < 1 / (1 + std::exp(-z[0] - z[1])) ? 1 : 0;
    Vector logs(4);
    for (std::size_t j = 0; j < 2; ++j) {
      logs[2 * j] = -std::log1p(std::exp(z[j]));
      logs[2 * j + 1] = -std::log1p(std::exp(-z[j]));
    }
    Vector p(2);
    stack.predict(logs, p);
    if (t >= 500) {
      for (std::size_t j = 0; j < 2; ++j) losses[j] -= logs[2 * j + y];
      losses[2] -= std::log(p[y]);
    }
    stack.learn(y);
  }
  EXPECT_LT(losses[2], 0.8 * std::min(losses[0], losses[1]));
}

// Weights stay when there are more classes: differences of scores come from them alone.
TEST(ClassStack, KeepsItsWeightsWithMoreClasses) {
  for (const std::size_t classes : {2, 3}) {
    Rng rng(5);
    ClassStack stack(classes, plan_of(2, 1e-5));
    for (int t = 0; t < 200; ++t) {
      const auto y = static_cast<std::size_t>(rng.below(classes));
      Vector p(classes);
      stack.predict(features_of(rng, 2, classes, y), p);
      stack.learn(y);
    }
    // How the score of class 0 over that of class 1 grows with a feature of class 0.
    const auto weight = [&](std::size_t n, std::size_t feature) {
      Vector none(n);
      Vector some(n);
      Vector f(2 * n, 0.0);
      stack.predict(f, none);
      f[feature * n] = 1;
      stack.predict(f, some);
      return std::log(some[0] / some[1]) - std::log(none[0] / none[1]);
    };
    const Vector before{weight(classes, 0), weight(classes, 1)};
    EXPECT_GT(before[0], 0.7);
    EXPECT_LT(before[1], 0.4);
    stack.widen(classes + 2);
    EXPECT_NEAR(weight(classes + 2, 0), before[0], 1e-9);
    EXPECT_NEAR(weight(classes + 2, 1), before[1], 1e-9);
    Vector p(classes + 2);
    stack.predict(Vector(2 * p.size(), 0.0), p);
    EXPECT_TRUE(test::near(p, Vector(p.size(), 1 / static_cast<double>(p.size())), 1e-12));
  }
}

TEST(ClassStack, GoesOnFromASnapshot) {
  for (const std::size_t classes : {2, 4}) {
    Rng rng(6);
    ClassStack stack(classes, plan_of(3, 1e-5));
    ClassStack loaded(classes, plan_of(3, 1e-5));
    for (int t = 0; t < 100; ++t) {
      if (t % 20 == 0) test::restore_from(test::state_bytes(stack), loaded);
      const auto y = static_cast<std::size_t>(rng.below(classes));
      const Vector f = features_of(rng, 3, classes, y);
      Vector p(classes);
      Vector q(classes);
      stack.predict(f, p);
      loaded.predict(f, q);
      ASSERT_TRUE(test::same_bits(q, p));
      stack.learn(y);
      loaded.learn(y);
    }
  }
}

}  // namespace
}  // namespace kalstream
