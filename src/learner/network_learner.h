// One network, one derivative, one loss, one rule.
#pragma once

#include <vector>

#include "core/aligned.h"
#include "core/cloned.h"
#include "core/layout.h"
#include "jacobian/differentiator.h"
#include "kalstream/learner.h"
#include "loss/loss_function.h"
#include "update/update_rule.h"

namespace kalstream {

class NetworkLearner final : public Learner {
 public:
  NetworkLearner(const NetworkOptions& network, std::unique_ptr<UpdateRule> rule,
                 const Loss& loss = {});

  std::size_t inputs() const override { return network_.inputs; }
  std::size_t outputs() const override { return network_.outputs; }
  std::uint64_t samples() const override { return samples_; }
  LearnerState state() const override {
    return {.covariance_trace = rule_->covariance_trace(), .weights = {}};
  }
  std::span<const double> predict(std::span<const double> x) override;
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  /// learn(x, d) as an expert that is told another's prediction μ: the gate judges its own d − d̂,
  /// the update is made with d − μ.
  StepReport learn_from(std::span<const double> x, std::span<const double> d,
                        std::span<const double> mu);
  void start_forecast() override;
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override {
    return std::make_unique<NetworkLearner>(*this);
  }
  void reset() override;
  void exchange(Archive& archive) override;

  std::span<const double> weights() const { return theta_; }
  const UpdateRule& rule() const { return *rule_; }
  /// Starts over from these weights instead of random ones.
  void restart_from(std::span<const double> theta);

 private:
  bool forward(std::span<const double> x);
  void differentiate();
  StepStatus update(std::span<const double> mu, bool rule_knows_H);
  void commit();
  void restart();
  StepReport report(StepStatus status) const;

  NetworkOptions network_;
  ParameterLayout layout_;
  AlignedVector theta_;
  Cloned<Differentiator> differentiator_;
  Cloned<UpdateRule> rule_;
  LossFunction loss_;
  std::uint64_t samples_ = 0;
  std::vector<double> x_;      // the input of the last forward
  bool forward_done_ = false;  // prediction_ belongs to x_ and the current weights and state
  bool H_done_ = false;        // so does H_, ∂z/∂θ
  bool spread_done_ = false;   // so does spread_, and the rule's work on it
  std::vector<double> prediction_;
  std::vector<double> no_prediction_;  // NaN
  std::vector<double> spread_;         // empty if the rule has no variance
  std::vector<double> ahead_;          // the last forecast
  std::vector<double> e_;
  AlignedVector H_;
  std::vector<double> e_white_;  // what the rule sees; empty if that is e_ and H_
  AlignedVector H_white_;
};

}  // namespace kalstream
