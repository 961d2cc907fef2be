// The parallel EKF: one network, whose weights and state one filter estimates together.
#pragma once

#include <vector>

#include "core/aligned.h"
#include "core/layout.h"
#include "kalstream/learner.h"
#include "kalstream/rules/parallel_ekf.h"
#include "loss/loss_function.h"
#include "model/network.h"
#include "update/joint_covariance.h"
#include "update/longevity.h"

namespace kalstream {

/// Of the stream's past it carries the state and P, and nothing else: no window, no sensitivities.
class ParallelEkfLearner final : public Learner {
 public:
  ParallelEkfLearner(const NetworkOptions& network, const ParallelEkf& rule, const Loss& loss = {});

  std::size_t inputs() const override { return network_.inputs; }
  std::size_t outputs() const override { return network_.outputs; }
  std::uint64_t samples() const override { return samples_; }
  LearnerState state() const override { return {.covariance_trace = P_.trace(), .weights = {}}; }
  std::span<const double> predict(std::span<const double> x) override;
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  void start_forecast() override;
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override {
    return std::make_unique<ParallelEkfLearner>(*this);
  }
  void reset() override;
  void exchange(Archive& archive) override;

  std::span<const double> weights() const { return std::span(xi_).first(layout_.size()); }
  /// ξ = [θ ; c ; y], and P; for tests.
  std::span<const double> estimate() const { return xi_; }
  const JointCovariance& covariance() const { return P_; }
  /// Starts over from these weights instead of random ones.
  void restart_from(std::span<const double> theta);

 private:
  std::size_t place_of_y() const { return xi_.size() - layout_.n_s; }  // in ξ
  bool has_c() const { return layout_.cell == Cell::lstm; }
  void restart();
  void take_state(CellState& state) const;
  void refresh();
  bool forward(std::span<const double> x);
  void predict_covariance();
  void differentiate_step();
  void differentiate_output();
  StepStatus correct();
  void look_after(StepStatus status);
  void finish();
  StepReport report(StepStatus status) const;

  NetworkOptions network_;
  ParameterLayout layout_;
  ParallelEkf rule_;
  LossFunction loss_;
  Longevity longevity_;
  JointCovariance P_;
  AlignedVector xi_;       // after the last sample; its θ comes first
  AlignedVector xi_next_;  // the same weights, and the state after the last forward
  AlignedVector xi_new_;   // corrected
  CellWeights weights_;
  bool stale_ = true;  // θ has changed since weights_ were set
  CellState before_;   // the state in xi_
  CellSteps newest_;   // the last forward
  std::uint64_t samples_ = 0;
  std::uint64_t t_ = 0;           // targets
  bool forward_done_ = false;     // prediction_ belongs to x_ and ξ
  bool covariance_done_ = false;  // so does the P⁻ proposed, and H_
  std::vector<double> x_;
  std::vector<double> z_;
  std::vector<double> prediction_;
  std::vector<double> no_prediction_;  // NaN
  std::vector<double> spread_;
  std::vector<double> e_;
  AlignedVector F_;              // ∂s/∂ξ of the last forward
  AlignedVector H_;              // ∂z/∂ξ
  std::vector<double> e_white_;  // what the filter sees; empty if that is e_ and H_
  AlignedVector H_white_;
  AlignedVector da_, dy_, dc_;
  CellState ahead_;  // of a forecast
  CellSteps ahead_step_;
  std::vector<double> ahead_prediction_;
};

}  // namespace kalstream
