// The parallel EKF against a dense filter written by its equations, whose derivatives are complex
// steps; and what it has in common with the EKF.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <complex>
#include <string>

#include "learner/network_learner.h"
#include "learner/parallel_ekf_learner.h"
#include "network_equations.h"
#include "support.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Equations;
using test::near;
using test::random_stream;
using test::State;
using test::Vector;

/// ξ = [θ ; s] and P, as the header of ParallelEkf has it.
class Oracle {
 public:
  Oracle(const NetworkOptions& network, const ParallelEkf& rule, std::span<const double> xi)
      : network_(network), rule_(rule), n_s_(network.hidden), has_c_(network.cell == Cell::lstm) {
    xi_ = Eigen::Map<const VectorXd>(xi.data(), static_cast<Eigen::Index>(xi.size()));
    m_ = static_cast<Eigen::Index>((has_c_ ? 2 : 1) * n_s_);
    n_ = xi_.size() - m_;
    P_ = MatrixXd::Zero(xi_.size(), xi_.size());
    P_.diagonal().head(n_).setConstant(rule.initial_covariance);
  }

  VectorXd predict(const Vector& x) {
    const auto moved = [&](const auto& xi) { return move(xi, x); };
    const auto told = [&](const auto& xi) { return output(xi, x); };
    const MatrixXd F = derivative(moved, xi_);
    const Vector next = move(Vector(xi_.begin(), xi_.end()), x);
    xi_ = Eigen::Map<const VectorXd>(next.data(), xi_.size());
    P_ = F * P_ * F.transpose();
    P_.diagonal().tail(m_).array() += rule_.state_noise;
    H_ = derivative(told, xi_);
    const Vector d_hat = output(Vector(xi_.begin(), xi_.end()), x);
    return Eigen::Map<const VectorXd>(d_hat.data(), static_cast<Eigen::Index>(d_hat.size()));
  }

  void learn(const VectorXd& e, std::uint64_t t) {
    MatrixXd S = H_ * P_ * H_.transpose();
    S.diagonal().array() += rule_.measurement_noise.at(t);
    const MatrixXd G = P_ * H_.transpose() * S.inverse();
    xi_ += G * e;
    P_ -= G * H_ * P_;
    P_.diagonal().head(n_).array() += rule_.process_noise.at(t);
  }

  const VectorXd& xi() const { return xi_; }
  const MatrixXd& P() const { return P_; }

 private:
  template <class T>
  std::vector<T> move(const std::vector<T>& xi, const Vector& x) const {
    State<T> state = state_of(xi);
    const std::vector<T> theta(xi.begin(), xi.begin() + n_);
    Equations<T>(network_).step(theta, x, state);
    std::vector<T> next = theta;
    if (has_c_) next.insert(next.end(), state.c.begin(), state.c.end());
    next.insert(next.end(), state.y.begin(), state.y.end());
    return next;
  }

  template <class T>
  std::vector<T> output(const std::vector<T>& xi, const Vector& x) const {
    const std::vector<T> theta(xi.begin(), xi.begin() + n_);
    return Equations<T>(network_).output(theta, x, state_of(xi));
  }

  template <class T>
  State<T> state_of(const std::vector<T>& xi) const {
    State<T> state(n_s_);
    const auto units = static_cast<std::ptrdiff_t>(n_s_);
    std::copy(xi.end() - units, xi.end(), state.y.begin());
    if (has_c_) std::copy(xi.begin() + n_, xi.begin() + n_ + units, state.c.begin());
    return state;
  }

  template <class F>
  static MatrixXd derivative(const F& f, const VectorXd& at) {
    constexpr double h = 1e-30;
    MatrixXd all;
    for (Eigen::Index j = 0; j < at.size(); ++j) {
      std::vector<std::complex<double>> shifted(at.begin(), at.end());
      shifted[static_cast<std::size_t>(j)] += std::complex<double>(0, h);
      const auto value = f(shifted);
      if (j == 0) all = MatrixXd(value.size(), at.size());
      for (std::size_t k = 0; k < value.size(); ++k)
        all(static_cast<Eigen::Index>(k), j) = value[k].imag() / h;
    }
    return all;
  }

  NetworkOptions network_;
  ParallelEkf rule_;
  std::size_t n_s_;
  bool has_c_;
  Eigen::Index n_ = 0;
  Eigen::Index m_ = 0;
  VectorXd xi_;
  MatrixXd P_;
  MatrixXd H_;
};

class ParallelEkfOf : public testing::TestWithParam<std::pair<std::string, Cell>> {};

TEST_P(ParallelEkfOf, IsTheDenseFilter) {
  NetworkOptions network = test::small_network(2, 3, 2);
  network.cell = GetParam().second;
  network.direct = network.cell == Cell::simple;
  const ParallelEkf rule{.initial_covariance = 2, .process_noise = 1e-3, .state_noise = 1e-2};
  ParallelEkfLearner learner(network, rule);
  Oracle oracle(network, rule, learner.estimate());
  const auto stream = random_stream(5, 2, 2, 40);
  for (std::size_t t = 0, targets = 0; t < 40; ++t) {
    const VectorXd d_hat = oracle.predict(stream.x[t]);
    ASSERT_TRUE(near(learner.predict(stream.x[t]), Vector(d_hat.begin(), d_hat.end()), 1e-9)) << t;
    if (t % 7 == 3) {
      learner.advance(stream.x[t]);
    } else {
      learner.learn(stream.x[t], stream.d[t]);
      oracle.learn(Eigen::Map<const VectorXd>(stream.d[t].data(), 2) - d_hat, targets++);
    }
  }
  EXPECT_TRUE(near(learner.estimate(), Vector(oracle.xi().begin(), oracle.xi().end()), 1e-9));
  for (std::size_t i = 0; i < learner.covariance().size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      ASSERT_NEAR(learner.covariance()(i, j),
                  oracle.P()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)), 1e-8)
          << i << ' ' << j;
      ASSERT_EQ(learner.covariance()(i, j), learner.covariance()(j, i));
    }
}

INSTANTIATE_TEST_SUITE_P(Cells, ParallelEkfOf,
                         testing::Values(std::pair("lstm", Cell::lstm), std::pair("gru", Cell::gru),
                                         std::pair("simple", Cell::simple),
                                         std::pair("feedforward", Cell::feedforward)),
                         [](const auto& one) { return one.param.first; });

// Without memory there is nothing to estimate but the weights; with it, the first update is still
// that of the EKF: the state before it was known.
TEST(ParallelEkfRule, IsTheEkfWhereThereIsNoPast) {
  for (const Cell cell : {Cell::feedforward, Cell::lstm, Cell::gru}) {
    NetworkOptions network = test::small_network(2, 3, 2);
    network.cell = cell;
    const ParallelEkf rule{.state_noise = 0};
    const Ekf ekf{rule.initial_covariance, rule.measurement_noise, rule.process_noise};
    ParallelEkfLearner parallel(network, rule);
    NetworkLearner plain(network, make_rule(ekf, ParameterLayout(network)));
    const auto stream = random_stream(6, 2, 2, cell == Cell::feedforward ? 30 : 1);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      parallel.learn(stream.x[t], stream.d[t]);
      plain.learn(stream.x[t], stream.d[t]);
    }
    EXPECT_TRUE(near(parallel.weights(), plain.weights(), 1e-9)) << static_cast<int>(cell);
    EXPECT_NEAR(parallel.state().covariance_trace / plain.state().covariance_trace, 1, 1e-9);
  }
}

// Without noise the state is a function of the weights, and P_sθ = (∂s/∂θ)P_θθ: of the
// sensitivities that RTRL carries. What is left is that the state, too, is moved to what the new
// weights make of the past: here by nothing, since the targets are as predicted.
TEST(ParallelEkfRule, KnowsTheSensitivitiesOfRtrl) {
  NetworkOptions network = test::small_network(2, 3, 1);
  const ParallelEkf rule{.process_noise = 0, .state_noise = 0};
  const Ekf ekf{rule.initial_covariance, rule.measurement_noise, rule.process_noise};
  ParallelEkfLearner parallel(network, rule);
  network.derivative = Derivative::rtrl;
  NetworkLearner rtrl(network, make_rule(ekf, ParameterLayout(network)));
  const auto stream = random_stream(7, 2, 1, 25);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    const Vector d_hat = test::copy(parallel.predict(stream.x[t]));
    EXPECT_TRUE(near(rtrl.predict(stream.x[t]), d_hat, 1e-12));
    EXPECT_TRUE(near(rtrl.spread(), parallel.spread(), 1e-8)) << t;
    parallel.learn(stream.x[t], d_hat);
    rtrl.learn(stream.x[t], d_hat);
  }
  EXPECT_NEAR(parallel.state().covariance_trace / rtrl.state().covariance_trace, 1, 1e-9);
}

}  // namespace
}  // namespace kalstream
