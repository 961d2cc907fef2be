// A sparse Gaussian process as an online learner.
#pragma once

#include <vector>

#include "core/cloned.h"
#include "kalstream/rules/kernel.h"
#include "learner/kernel_filter.h"
#include "learner/kernel_likelihood.h"
#include "learner/portioned_learner.h"

namespace kalstream {

/// A KernelFilter, and the one that will take its place. What is to be done besides learning a
/// sample is done in portions, one with each sample: steps up the likelihood, the choice of new
/// centres, samples learnt again. Making a new filter allocates; where there is no memory for it,
/// the old one stays.
class KernelLearner final : public PortionedLearner {
 public:
  /// For standardised inputs and targets.
  KernelLearner(std::size_t inputs, std::size_t outputs, const Kernel& rule);

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return d_hat_.size(); }
  std::uint64_t samples() const override { return samples_; }
  LearnerState state() const override {
    return {.covariance_trace = filter_->covariance_trace(), .weights = {}};
  }
  std::span<const double> predict(std::span<const double> x) override;
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  void start_forecast() override { ahead_ = seen_; }
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override { return std::make_unique<KernelLearner>(*this); }
  void reset() override;
  void exchange(Archive& archive) override;

  void remember(std::span<const double> x, std::span<const double> d) override;
  bool work() override;

  const KernelShape& shape() const { return likelihood_.shape(); }
  std::size_t centres() const { return filter_->centres(); }

 private:
  bool is_usable(std::span<const double> x) const;
  bool bring_up_to_date(std::span<const double> x);
  void move_on();
  std::size_t remembered() const;
  StepStatus take(std::span<const double> d);
  struct Drawn {
    std::size_t n;
    std::span<const double> x, d;  // until the next are drawn
  };
  Drawn draw(std::size_t n, std::uint64_t until);
  std::span<const double> recall(std::uint64_t sample);
  void climb();
  void choose();
  void begin_choice(const KernelShape& shape);
  void learn_again();
  bool is_renewal_due() const { return learnt_ >= renewal_at_; }
  std::span<float> row_of(std::uint64_t sample) {
    return std::span(rows_).subspan(sample % rule_.memory * width_, width_);
  }

  std::size_t inputs_;
  std::size_t seen_inputs_;  // with those of the past
  std::size_t width_;        // of a row in memory: seen inputs, targets
  Kernel rule_;
  KernelLikelihood likelihood_;
  Cloned<KernelFilter> filter_;
  Cloned<KernelFilter> next_;  // which will take its place, if there is one
  std::uint64_t samples_ = 0;
  std::uint64_t learnt_ = 0;        // of them, with a target
  std::uint64_t climbs_left_ = 0;   // steps up the likelihood that are due
  std::uint64_t renewal_at_ = 0;    // the next one begins with this sample
  Cloned<CentreChoice> choice_;     // of the next filter's centres, if it is being made
  std::uint64_t choice_began_ = 0;  // after so many samples
  std::uint64_t learnt_again_ = 0;  // samples that next_ knows, or that were forgotten meanwhile
  std::vector<float> rows_;         // of the samples in memory, standardised: no more digits count
  std::vector<double> seen_;        // the inputs of the last prediction, then those before
  std::vector<double> ahead_;       // the same of a forecast
  std::vector<double> again_;       // a sample from memory
  bool predicted_ = false;
  std::vector<double> d_hat_;
  std::vector<double> spread_;
  std::vector<double> no_prediction_;
};

}  // namespace kalstream
