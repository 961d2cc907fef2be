// `auto`: many small experts of different kinds, blended; for raw data, without any tuning.
#pragma once

#include <string>
#include <vector>

#include "core/workers.h"
#include "kalstream/learner.h"
#include "learner/blend.h"
#include "learner/history.h"
#include "learner/moments.h"

namespace kalstream {

/// What one expert is and sees.
struct ExpertPlan {
  std::string name;
  NetworkOptions network;
  Rule rule;
  bool sees_inputs = true;
  std::size_t lags = 0;     ///< past targets it sees
  std::size_t replays = 0;  ///< past samples learnt again after each new one …
  std::size_t memory = 0;   ///< … out of so many; only for networks without memory
};

/// The experts for a stream of this kind, the most useful networks first; linear ones come last and
/// are not counted in Auto::experts.
std::vector<ExpertPlan> plan_experts(const Auto& options, const NetworkOptions& network);

/// Moments that stand still, so that a network's inputs and targets keep their meaning: taken over
/// from the running ones when asked, and when these have moved away far.
class HeldMoments {
 public:
  explicit HeldMoments(std::size_t n) : running_(n), mean_(n, 0.0), deviation_(n, 1.0) {}

  void add(std::span<const double> v) { running_.add(v); }
  void hold();
  /// Takes over those that differ by more than twice the deviation, or by one in the mean.
  void follow();
  void reset();
  void exchange(Archive& archive);

  const RunningMoments& running() const { return running_; }
  double mean(std::size_t k) const { return mean_[k]; }
  double deviation(std::size_t k) const { return deviation_[k]; }
  double standardised(std::size_t k, double v, double reach) const {
    return std::clamp((v - mean_[k]) / deviation_[k], -reach, reach);
  }

 private:
  void take_over(std::size_t k);

  RunningMoments running_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
};

/// The last samples as they came.
class SampleMemory {
 public:
  SampleMemory(std::size_t capacity, std::size_t numbers)
      : capacity_(capacity), numbers_(numbers), rows_(capacity * numbers) {}

  void push(std::span<const double> a, std::span<const double> b, std::span<const double> c);
  std::size_t size() const { return size_; }
  /// All there have been, also those no longer remembered.
  std::uint64_t count() const { return count_; }
  /// The sample `age` ≥ 1 steps ago.
  std::span<const double> operator[](std::size_t age) const {
    return std::span(rows_).subspan(place(age), numbers_);
  }
  /// Forgets all but the newest.
  void keep(std::size_t newest) { size_ = std::min(size_, newest); }
  void reset() { keep(0); }
  void exchange(Archive& archive);

 private:
  std::size_t place(std::size_t age) const { return (count_ - age) % capacity_ * numbers_; }

  std::size_t capacity_;
  std::size_t numbers_;
  std::uint64_t count_ = 0;  // pushed so far
  std::size_t size_ = 0;
  std::vector<double> rows_;
};

/// One sample's way: inputs and past targets are standardised with held moments; every expert
/// predicts; each output's Blend combines the experts, the last value and the mean, within the
/// range of what has been seen and a tenth of it more. While the moments are still poor (4, 8, … 64
/// samples) they are taken anew at every doubling, and the experts start over and learn all samples
/// so far again: later scales would not fit what they learnt with earlier ones.
///
/// A target more than twenty deviations off counts as missing, unless it is the third in a row.
/// When the errors are suddenly far above the usual, what was learnt by heart is forgotten. If wild
/// samples in its youth left a scale far beyond all that came since, which is as it was before
/// them, the learner begins anew with what came since; once.
class AutoLearner final : public Learner {
 public:
  AutoLearner(const Auto& options, const NetworkOptions& network);
  AutoLearner(const AutoLearner& other);

  std::size_t inputs() const override { return n_in_; }
  std::size_t outputs() const override { return n_d_; }
  std::uint64_t samples() const override { return steps_; }
  std::span<const double> predict(std::span<const double> x) override;
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  StepReport observe(std::span<const double> x, std::span<const double> d) override;
  void start_forecast() override;
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override { return std::make_unique<AutoLearner>(*this); }
  void reset() override;
  void exchange(Archive& archive) override;

  const Blend& blend(std::size_t k) const { return blends_[k]; }
  bool began_anew() const { return began_anew_; }
  std::size_t networks() const { return experts_.size(); }
  const Learner& network(std::size_t j) const { return *experts_[j].learner; }

 private:
  AutoLearner(const Auto& options, const NetworkOptions& network, std::vector<ExpertPlan> plans);

  struct Expert {
    ExpertPlan plan;
    std::unique_ptr<Learner> learner;
    double noise;                     // r of its filter
    std::vector<double> z = {};       // of a sample learnt again …
    std::vector<double> target = {};  // … standardised
    StepReport report = {};
  };

  bool has_experts() const { return samples_ >= first_hold; }
  std::size_t size() const { return experts_.size() + 2; }  // and naive and mean
  std::span<const double> view(const Expert& expert, std::span<const double> z) const;
  template <class Job>
  void each_expert(const Job& job);
  void standardise(std::span<const double> x, std::span<const double> targets,
                   std::span<double> z) const;
  void standardise_target(std::span<const double> d, std::span<double> target) const;
  void combine(std::span<const double> last, std::span<double> d_hat);
  void predict_first(std::span<double> d_hat) const;
  bool bring_up_to_date(std::span<const double> x);
  bool is_beyond(const RunningMoments& seen, std::span<const double> v, double deviations) const;
  void watch();
  void step_experts(StepReport& report, bool has_target);
  void replay(Expert& expert, std::size_t turn);
  void learn_again(Expert& expert, std::size_t age);
  void note_wild(bool is_wild);
  bool is_out_of_scale() const;
  void begin_anew();
  void start_over();
  void start_over(Expert& expert);
  void widen_range(std::span<const double> d);
  void move_on(std::span<const double> x, std::span<const double> d);
  StepReport refuse();
  StepReport finish(StepReport report);

  static constexpr std::size_t first_hold = 4;  // samples
  static constexpr std::size_t last_hold = 64;

  std::size_t n_in_;
  std::size_t n_d_;
  std::vector<Expert> experts_;
  HeldMoments x_moments_;
  HeldMoments d_moments_;
  TargetHistory history_;
  SampleMemory memory_;
  std::vector<Blend> blends_;
  std::uint64_t steps_ = 0;
  std::uint64_t samples_ = 0;       // of them, with a target that was learnt
  std::uint64_t since_change_ = 0;  // samples
  double usual_error_ = 0;          // squared, standardised
  double present_error_ = 0;
  std::size_t bad_targets_ = 0;  // beyond belief, in a row
  std::size_t bad_inputs_ = 0;
  std::uint64_t since_wild_ = 0;  // samples since the last beyond belief; 0: there was none
  std::vector<double> mean_before_, deviation_before_;  // of the targets, when it began
  bool began_anew_ = false;
  std::vector<double> low_, high_;              // of the targets
  std::vector<double> naive_loss_, mean_loss_;  // before there are experts

  std::vector<double> x_;  // the input of the last prediction
  bool predicted_ = false;
  std::vector<double> z_;             // standardised: inputs, then past targets
  std::vector<double> target_;        // standardised
  std::vector<double> expert_d_hat_;  // size() × n_d
  std::vector<double> q_;
  std::vector<double> d_hat_;
  std::vector<double> no_prediction_;
  std::vector<double> relative_variance_;  // of the experts' predictions, 1 for certain weights
  std::vector<double> spread_;
  std::vector<double> weights_;
  TargetHistory ahead_history_;
  std::vector<double> ahead_;
  std::vector<std::size_t> by_cost_;  // the experts, the most expensive first
  Workers workers_;
};

}  // namespace kalstream
