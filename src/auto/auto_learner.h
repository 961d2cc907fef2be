// `auto`: an ensemble of experts, and what it believes.
#pragma once

#include "auto/belief.h"
#include "auto/ensemble.h"
#include "core/cloned.h"
#include "kalstream/learner.h"

namespace kalstream {

/// After a sample that is far from all before it nobody knows whether the stream has changed for
/// good. From then on there are two ensembles: one that learns all that comes, and begins anew with
/// what is too far off for its scale; and the one from before, which learns only what is near to
/// what it knows. The one that has predicted better lately predicts. When nothing was far off for a
/// while, or the change has lasted longer than all before it, the better one stays: no finite run
/// of wild samples leaves a trace.
class AutoLearner final : public Learner {
 public:
  AutoLearner(const Auto& options, const NetworkOptions& network);
  AutoLearner(const AutoLearner& other) = default;

  std::size_t inputs() const override { return ensemble_->inputs(); }
  std::size_t outputs() const override { return ensemble_->outputs(); }
  std::uint64_t samples() const override { return ensemble_->samples(); }
  LearnerState state() const override { return better().state(); }
  bool can_use(std::span<const double> x) const override {
    return x.size() == inputs() && ExpectedInputs::are_usable(x);
  }
  std::span<const double> predict(std::span<const double> x) override;
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override { return observe(x, {}); }
  StepReport observe(std::span<const double> x, std::span<const double> d) override;
  void start_forecast() override { better().start_forecast(); }
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override { return std::make_unique<AutoLearner>(*this); }
  std::span<const double> opinions() const override { return better().opinions(); }
  void expect_periods(std::span<const double> samples) override;
  std::span<const double> periods() const override { return better().periods(); }
  void reset() override;
  void exchange(Archive& archive) override;

  /// The one that predicts.
  const Ensemble& better() const { return before_is_better() ? *before_ : *ensemble_; }
  /// Whether there are two.
  bool is_in_doubt() const { return before_ != nullptr; }

 private:
  /// Squared errors of the two ensembles.
  struct Errors {
    double of_all = 0;
    double of_before = 0;
    void track(double all, double before, double pace) {
      of_all += pace * (all - of_all);
      of_before += pace * (before - of_before);
    }
    /// The one from before knows less of what came since.
    bool favour_before() const { return constants::contest_margin * of_before < of_all; }
  };

  /// Which of the two ensembles is the better one.
  struct Contest {
    Errors lately;
    Errors calm;
    std::uint64_t length = 0;       // samples
    std::uint64_t longest = 0;      // … at most
    std::uint64_t calm_length = 0;  // since the last that was far from those before the contest
  };

  Ensemble& better() { return before_is_better() ? *before_ : *ensemble_; }
  bool before_is_better() const;
  void begin_contest();
  StepReport learn_before(std::span<const double> x, std::span<const double> d);
  void look_at_contest();

  Auto options_;
  NetworkOptions network_;
  Cloned<Ensemble> ensemble_;
  Cloned<Ensemble> before_;  // only while in doubt
  Belief belief_;
  Contest contest_;
  std::vector<double> no_prediction_;
};

}  // namespace kalstream
