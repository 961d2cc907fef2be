// Many small experts of different kinds, blended; for raw data, without any tuning.
#pragma once

#include <optional>
#include <vector>

#include "auto/alarm.h"
#include "auto/announced.h"
#include "auto/belief.h"
#include "auto/blends.h"
#include "auto/expected_inputs.h"
#include "auto/first_guess.h"
#include "auto/memory.h"
#include "auto/panel.h"
#include "auto/range.h"
#include "auto/roster.h"
#include "auto/scale.h"
#include "auto/series/finder.h"
#include "auto/series/series.h"
#include "kalstream/learner.h"
#include "learner/history.h"

namespace kalstream {

/// One sample's way, as docs/auto.md tells it: inputs and past targets are put on the scale; every
/// expert predicts; each output's Blend combines them, within the range of what has been seen and a
/// tenth of it more. While the scale is still poor the experts start over each time it is taken
/// anew, from the samples in memory; later, when the alarm says that the stream has changed, those
/// do that learnt it by heart. What it learns it believes; AutoLearner decides what that is.
class Ensemble {
 public:
  Ensemble(const Auto& options, const NetworkOptions& network);
  Ensemble(const Ensemble& other) = default;

  std::size_t inputs() const { return x_.size(); }
  std::size_t outputs() const { return d_hat_.size(); }
  std::uint64_t samples() const { return steps_; }
  LearnerState state() const;
  // Inputs and targets of all that follow are usable ones; inputs may be missing (NaN).
  std::span<const double> predict(std::span<const double> x);
  std::span<const double> spread();
  StepReport learn(std::span<const double> x, std::span<const double> d);
  /// A sample without target, or with one that is only remembered.
  StepReport observe(std::span<const double> x, std::span<const double> d);
  /// How far a sample is from those learnt so far.
  Distance distance(std::span<const double> x, std::span<const double> d);
  /// The squared error of a prediction, in variances of the targets; each output's counts as that
  /// of a wild target at most.
  double error(std::span<const double> d_hat, std::span<const double> d) const;
  /// A sample that is not believed, so far from the others: one without target, but for what
  /// unusual inputs may have announced.
  StepReport doubt(std::span<const double> x, std::span<const double> d, const Distance& distance);
  void start_forecast();
  std::span<const double> forecast_next(std::span<const double> x);
  std::unique_ptr<Ensemble> clone() const { return std::make_unique<Ensemble>(*this); }
  std::span<const double> opinions() const {
    return std::span(said_).subspan(panel_.size() * d_hat_.size());
  }
  void expect_periods(std::span<const double> samples);
  std::span<const double> periods() const;
  void reset();
  /// Forgets all but the newest samples, of those in memory; time goes on.
  void begin_anew(std::size_t newest = 0);
  void exchange(Archive& archive);

  const Blend& blend(std::size_t k) const { return blends_[k]; }
  /// Those that know no time, which come first.
  std::size_t experts() const { return panel_.size(); }
  bool is_awake(std::size_t j) const { return roster_.is_awake(j); }
  /// nullptr for the last value and the mean, which need none.
  const Learner* expert(std::size_t j) const { return panel_[j].learner.get(); }

 private:
  std::size_t all_experts() const { return panel_.size() + series_[0].size(); }
  bool has_experts() const { return Scale::is_known(samples_); }
  StepReport step_experts(std::span<const double> d);
  double said_without_past(std::size_t k) const;
  void look_for_periods();
  void set_periods(std::span<const double> samples);
  void advance_series(std::span<const double> guess);
  std::span<const double> inputs_seen() const { return std::span(now_.seen).first(inputs()); }
  std::span<double> said_by_series(std::size_t k) {
    return std::span(said_).subspan(panel_.size() * outputs() + k);
  }
  void learn_blend(std::span<const double> d);
  double squared_error() const;
  void look_for_change();
  void follow_roster(const Roster::Change& change);
  void widen_range(std::span<const double> d);
  void move_on(std::span<const double> d);
  void follow_linear();
  void see(std::span<const double> x, const TargetHistory& past);
  void prepare_experts();
  void keep_scale();
  template <class Which>
  void follow_scale(const Which& which);
  void look_at_scale();
  bool had_a_wild_start() const;
  StepReport finish(StepReport report);

  ExpectedInputs expected_;  // in the place of those that are missing
  Panel panel_;
  std::vector<Series> series_;               // of each output
  std::optional<std::size_t> without_past_;  // the expert that knows the inputs alone
  Periods periods_;
  bool periods_told_ = false;  // they are known, and not looked for
  ScaledSample now_;           // the scale, and on it the last sample that was predicted
  ScaledSample before_;        // the same on the scale of before, while some experts are behind
  TargetHistory history_;
  SampleMemory memory_;
  Blends blends_;
  Roster roster_;
  TargetRange range_;
  FirstGuess first_guess_;
  Announced announced_;
  Alarm alarm_;
  std::uint64_t steps_ = 0;
  std::uint64_t samples_ = 0;  // of them, with a target that was learnt

  std::vector<double> x_;  // the input of the last prediction, completed
  bool predicted_ = false;
  std::vector<double> said_;      // by the experts: experts × outputs
  std::vector<double> variance_;  // of it, relative to the noise
  std::vector<double> moved_;     // by each of the networks and others without time (Roster)
  std::vector<double> usual_;     // what the experts' blend says …
  std::vector<double> d_hat_;     // … and what is announced on top of it
  bool unusual_ = false;          // whether the inputs may announce something
  TargetHistory ahead_history_;
  std::vector<double> ahead_;
};

}  // namespace kalstream
