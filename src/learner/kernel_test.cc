#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "core/rng.h"
#include "learner/kernel_learner.h"
#include "support.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::normals;
using test::Vector;

double kernel(const KernelShape& shape, const double* a, const double* b) {
  double distance = 0;
  double product = 0;
  for (std::size_t i = 0; i < shape.inputs(); ++i) {
    const double apart = (a[i] - b[i]) * shape.inverse_length(i);
    distance += apart * apart;
    product += a[i] * b[i];
  }
  return shape.amplitude2() * std::exp(-distance / 2) + shape.linear() * product + 1;
}

MatrixXd kernel_of(const KernelShape& shape, const Vector& a, const Vector& b) {
  const std::size_t p = shape.inputs();
  MatrixXd K(a.size() / p, b.size() / p);
  for (Eigen::Index r = 0; r < K.rows(); ++r)
    for (Eigen::Index c = 0; c < K.cols(); ++c)
      K(r, c) =
          kernel(shape, &a[static_cast<std::size_t>(r) * p], &b[static_cast<std::size_t>(c) * p]);
  return K;
}

// With the noise.
MatrixXd covariance(const KernelShape& shape, const Vector& x) {
  MatrixXd K = kernel_of(shape, x, x);
  K.diagonal().array() += shape.noise();
  return K;
}

// Mean over the outputs.
double log_likelihood(const KernelShape& shape, const Vector& x, const Vector& d,
                      std::size_t outputs) {
  const Eigen::LLT<MatrixXd> factor(covariance(shape, x));
  const MatrixXd targets = Eigen::Map<const MatrixXd>(
      d.data(), static_cast<Eigen::Index>(outputs), static_cast<Eigen::Index>(d.size() / outputs));
  double sum = 0;
  for (Eigen::Index o = 0; o < targets.rows(); ++o) {
    const VectorXd v = targets.row(o);
    sum -= v.dot(factor.solve(v)) / 2;
    sum -= factor.matrixLLT().diagonal().array().log().sum();
  }
  return sum / static_cast<double>(outputs);
}

KernelShape some_shape() {
  KernelShape shape(3);
  shape.log = {0.2, 1.1, -0.3, 0.4, -1.5, -2.0};
  return shape;
}

TEST(Kernel, TheGradientIsThatOfTheLikelihood) {
  Rng rng(3);
  constexpr std::size_t n = 20;
  for (const std::size_t outputs : {1, 2}) {
    const Vector x = normals(rng, n * 3);
    const Vector d = normals(rng, n * outputs);
    KernelLikelihood likelihood(3, outputs);
    const KernelShape shape = some_shape();
    const Vector gradient = test::copy(likelihood.gradient(shape, n, x, d));
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      KernelShape above = shape;
      KernelShape below = shape;
      above.log[i] += h;
      below.log[i] -= h;
      const double slope =
          (log_likelihood(above, x, d, outputs) - log_likelihood(below, x, d, outputs)) / (2 * h);
      EXPECT_NEAR(gradient[i], slope, 1e-6 * (1 + std::abs(slope))) << i << ", " << outputs;
    }
  }
}

// Where every sample is a centre, nothing is left out of the kernel, and recursive least squares
// are the Gaussian process itself: mean and variance, for every output.
TEST(Kernel, IsTheGaussianProcessWhereEverySampleIsACentre) {
  Rng rng(5);
  constexpr std::size_t n = 40;
  const Vector x = normals(rng, n * 3);
  const Vector d = normals(rng, n * 2);
  const KernelShape shape = some_shape();
  CentreChoice choice(shape, n, x, n);
  choice.choose(n);
  KernelFilter filter(shape, 2, choice.centres());
  ASSERT_EQ(filter.centres(), n);
  for (std::size_t t = 0; t < n; ++t) {
    filter.predict(std::span(x).subspan(3 * t, 3));
    ASSERT_EQ(filter.learn(std::span(d).subspan(2 * t, 2)), StepStatus::applied);
  }
  const Eigen::LLT<MatrixXd> factor(covariance(shape, x));
  for (int trial = 0; trial < 20; ++trial) {
    const Vector at = normals(rng, 3);
    const VectorXd k = kernel_of(shape, x, at);
    const Vector mean = test::copy(filter.predict(at));
    for (std::size_t o = 0; o < 2; ++o) {
      VectorXd targets(n);
      for (std::size_t t = 0; t < n; ++t) targets[static_cast<Eigen::Index>(t)] = d[2 * t + o];
      EXPECT_NEAR(mean[o], k.dot(factor.solve(targets)), 1e-3);
    }
    const double variance =
        shape.noise() + kernel(shape, at.data(), at.data()) - k.dot(factor.solve(k));
    EXPECT_NEAR(filter.relative_variance() * shape.noise(), variance, 1e-3 * variance);
  }
}

TEST(Kernel, CentresAreFewWhereFewExplainAll) {
  Rng rng(7);
  KernelShape smooth(1);
  smooth.log = {std::log(20.0), 0, -3, -3};
  CentreChoice choice(smooth, 200, normals(rng, 200), 100);
  choice.choose(100);
  const std::size_t centres = choice.size();
  EXPECT_LT(centres, 10U);
  EXPECT_GT(centres, 1U);
}

TEST(Kernel, InputsWithoutASayGetLongLengths) {
  Rng rng(11);
  KernelLearner learner(5, 1, {.centres = 64, .memory = 500});
  double error = 0;
  for (int t = 0; t < 1000; ++t) {
    const Vector x = normals(rng, 5);
    const double d = std::sin(2 * x[3]) + 0.1 * rng.normal();
    const double e = d - learner.predict(x)[0];
    if (t >= 500) error += e * e / 500;
    learner.learn(x, Vector{d});
  }
  EXPECT_LT(error, 0.02);  // of which 0.01 is noise
  for (std::size_t i = 0; i < 5; ++i)
    if (i != 3) {
      EXPECT_GT(learner.shape().log[i], learner.shape().log[3] + 1) << i;
    }
}

TEST(Kernel, SeesTheInputsOfThePast) {
  Rng rng(13);
  KernelLearner learner(1, 1, {.centres = 64, .memory = 500, .past_inputs = 3});
  Vector past(4);
  double error = 0;
  for (int t = 0; t < 1000; ++t) {
    past.insert(past.begin(), rng.normal());
    past.pop_back();
    const Vector x{past[0]};
    const double d = past[1] * past[3];
    const double e = d - learner.predict(x)[0];
    if (t >= 500) error += e * e / 500;
    learner.learn(x, Vector{d});
  }
  EXPECT_LT(error, 0.1);
}

}  // namespace
}  // namespace kalstream
