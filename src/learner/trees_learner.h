// Boosted trees as an online learner of numbers.
#pragma once

#include <vector>

#include "kalstream/rules/trees.h"
#include "learner/portioned_learner.h"
#include "trees/boosting.h"

namespace kalstream {

/// Boosting with the squared error of the last samples. Each sample is learnt in a bounded time: at
/// most one tree is fitted with it.
class TreesLearner final : public PortionedLearner {
 public:
  /// For raw data: trees depend on the order of an input's values alone.
  TreesLearner(std::size_t inputs, std::size_t outputs, const Trees& rule, std::uint64_t seed);

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return d_hat_.size(); }
  std::uint64_t samples() const override { return samples_; }
  LearnerState state() const override { return {.weights = {}}; }
  std::span<const double> predict(std::span<const double> x) override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  void start_forecast() override {}
  std::span<const double> forecast_next(std::span<const double> x) override { return predict(x); }
  std::unique_ptr<Learner> clone() const override { return std::make_unique<TreesLearner>(*this); }
  void reset() override;
  void exchange(Archive& archive) override;

  void remember(std::span<const double> x, std::span<const double> d) override;
  bool work() override;

 private:
  class Window;
  bool is_usable(std::span<const double> x, std::span<const double> d) const;
  std::size_t width() const { return inputs_ + outputs(); }

  std::size_t inputs_;
  std::size_t memory_;
  Boosting boosting_;
  std::uint64_t samples_ = 0;
  std::uint64_t learnt_ = 0;  // of them, with a target
  std::vector<double> rows_;  // inputs, targets
  std::vector<double> mean_;  // of the last targets, which trees are fitted to the deviations from
  std::vector<double> d_hat_;
  std::vector<double> no_prediction_;
};

}  // namespace kalstream
