// `auto` for classes: experts of different kinds, mixed by their log loss and calibrated.
#pragma once

#include <string>
#include <vector>

#include "auto/expected_inputs.h"
#include "classes/calibration.h"
#include "classes/class_expert.h"
#include "classes/class_mixture.h"
#include "classes/class_stack.h"
#include "core/cloned.h"
#include "core/workers.h"
#include "kalstream/learner.h"
#include "learner/footprint.h"

namespace kalstream {

/// One sample's way, as docs/classes.md tells it: inputs are put on the scale; every expert gives
/// probabilities; a mixture that tracks the best, and logistic regressions over all of them
/// (stacks), combine these; a mixture of the combinations and every expert, which carries the
/// guarantee; and the calibration, which has one of its own.
///
/// Targets are probabilities of classes as the loss cross_entropy has them: with one output of the
/// second of two, with several one for each; the largest is taken for the class that it was.
class AutoClassifier final : public Learner {
 public:
  AutoClassifier(const Auto& options, const NetworkOptions& network);

  std::size_t inputs() const override { return x_.size(); }
  std::size_t outputs() const override { return d_hat_.size(); }
  std::uint64_t samples() const override { return steps_; }
  LearnerState state() const override;
  bool can_use(std::span<const double> x) const override {
    return x.size() == inputs() && ExpectedInputs::are_usable(x);
  }
  std::span<const double> predict(std::span<const double> x) override;
  /// The deviation of what comes, 1 or 0, from its probability.
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  void start_forecast() override;
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override {
    return std::make_unique<AutoClassifier>(*this);
  }
  bool go_on_from(const Learner& narrower) override;
  void reset() override;
  void exchange(Archive& archive) override;

  /// Of the last prediction, the combinations and then the experts: each × classes.
  std::span<const double> candidates() const { return candidates_; }

 private:
  std::size_t classes() const { return p_.size(); }
  bool bring_up_to_date(std::span<const double> x);
  ClassMoment see(std::span<const double> x);
  ClassMoment now() const { return {x_, seen_, last_[0], steps_}; }
  void set_sizes(std::size_t classes);
  void weigh();
  void combine();
  void move_on(std::span<const double> x);
  void start_over();
  StepReport report(StepStatus status) const;
  ClassPast past() const { return {memory_, scale_}; }

  std::vector<std::string> names_;  // of the experts
  std::vector<Cloned<ClassExpert>> experts_;
  ExpectedInputs expected_;  // in the place of what is missing
  HeldMoments scale_;
  ClassMemory memory_;
  std::vector<std::size_t> last_;  // classes before, the newest first
  ClassMixture among_experts_;
  std::vector<ClassStack> stacks_;
  ClassMixture among_candidates_;
  Calibration calibration_;
  Workers workers_;
  std::uint64_t steps_ = 0;

  std::vector<double> x_;
  bool predicted_ = false;
  std::vector<double> seen_;
  std::vector<double> said_;        // experts × classes
  std::vector<double> candidates_;  // the mixture, the stacks, and every expert
  std::vector<double> logs_;        // of said_
  std::vector<double> p_;
  std::vector<double> d_hat_;
  std::vector<double> spread_;
  std::vector<double> no_prediction_;
  std::vector<double> weights_;  // of the experts, then of the stacks
};

/// What it will need, and the names of its experts and stacks, before it is made.
Footprint footprint_of_classifier(const Auto& options, const NetworkOptions& network);
std::vector<std::string> names_in_classifier(const Auto& options, const NetworkOptions& network);

}  // namespace kalstream
