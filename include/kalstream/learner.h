// The one interface users hold: predict, learn, advance, forecast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kalstream/options.h"
#include "kalstream/report.h"

namespace kalstream {

class Archive;

/// How a learner is made: make_learner(options), or make_scaled_learner(options).
struct Recipe {
  LearnerOptions options;
  bool scaled = false;
};

/// An online regressor. For each sample of a stream:
///
///     auto d_hat = learner->predict(x);          // uses targets before this sample only
///     auto report = learner->learn(x, d);        // or advance(x) when the target is missing
///
/// After construction predict, learn, advance and forecasts neither allocate nor throw, and nothing
/// prints; but learning allocates with `kernel` when the kernel is renewed, and with `auto` then,
/// when it looks for a period and when an expert wakes up. Both do without where there is no
/// memory. A sample that cannot be used (wrong size, not finite, inputs beyond ±1e100, and so
/// targets that are scaled or become inputs) leaves the learner as it was and is reported. `auto`
/// takes inputs that are missing (NaN).
class Learner {
 public:
  virtual ~Learner() = default;

  virtual std::size_t inputs() const = 0;
  virtual std::size_t outputs() const = 0;

  /// Samples learnt or advanced to since the start; those that could not be used do not count.
  virtual std::uint64_t samples() const = 0;

  /// What can be known of it without learning: as the last StepReport said, or as it is at the
  /// start.
  virtual LearnerState state() const = 0;

  /// Whether it would take x.
  virtual bool can_use(std::span<const double> x) const;

  /// d̂ for input x. Has no effect on what any later call returns. The view lives until the next
  /// call; all NaN when x cannot be used.
  virtual std::span<const double> predict(std::span<const double> x) = 0;

  /// How uncertain the learner is about what predict has just returned: one positive number for
  /// each output, in units of the target up to a factor that varies slowly; empty if it cannot
  /// tell. For kalstream/interval.h. No effect on what any later call returns, and at hardly any
  /// cost where learn follows: it reuses the work. The view lives until the next call.
  virtual std::span<const double> spread() { return {}; }

  /// Moves on to x and learns its target d. Reuses the work of predict(x) when x is the same.
  virtual StepReport learn(std::span<const double> x, std::span<const double> d) = 0;

  /// Moves on to x without a target.
  virtual StepReport advance(std::span<const double> x) = 0;

  /// Moves on to x, whose target was d, without learning from it: d is only remembered where past
  /// targets are inputs. For learners that shall stay as they are.
  virtual StepReport observe(std::span<const double> x, std::span<const double> /*d*/) {
    return advance(x);
  }

  /// Predictions for the next `horizon` samples, whose inputs are the rows of `future_inputs`
  /// (horizon × inputs), into `d_hat` (horizon × outputs); weights and state stay as they are.
  /// False, and `d_hat` untouched, when the sizes do not match or an input cannot be used.
  bool forecast(std::size_t horizon, std::span<const double> future_inputs,
                std::span<double> d_hat);

  /// The same step by step: start_forecast() goes back to the last sample learnt or advanced to;
  /// forecast_next(x) gives d̂ for the one after the last it was asked for, whose inputs are x. The
  /// view lives until the next call; all NaN when x cannot be used. No other call may come between.
  virtual void start_forecast() = 0;
  virtual std::span<const double> forecast_next(std::span<const double> x) = 0;

  /// What experts that know time say of the last prediction or forecast, for the Forecaster of
  /// kalstream/forecaster.h: experts × outputs, NaN if one says nothing; empty if there are none.
  /// The last needs the fewest samples to say something good. The view lives until the next call.
  virtual std::span<const double> opinions() const { return {}; }

  /// The stream repeats itself after so many samples, the shortest period first, as its clock or
  /// its owner tells; none: it does not, and no period shall be looked for. For learners that know
  /// of seasons; at any time, but the sooner the better.
  virtual void expect_periods(std::span<const double> /*samples*/) {}
  /// Those it reckons with, told or found.
  virtual std::span<const double> periods() const { return {}; }

  /// Goes on from what another has learnt that is made alike but for fewer outputs, where outputs
  /// are classes. False, and all stays as it was, if it cannot; see widened().
  virtual bool go_on_from(const Learner& /*narrower*/) { return false; }

  /// An independent copy, with all it has learnt.
  virtual std::unique_ptr<Learner> clone() const = 0;

  /// Back to the state after construction.
  virtual void reset() = 0;

  /// All that has been learnt, to or from a snapshot; for save and load (kalstream/snapshot.h).
  virtual void exchange(Archive& archive) = 0;

  /// How it was made; nullptr if not by make_learner, make_scaled_learner or load.
  const Recipe* recipe() const { return recipe_.get(); }

 protected:
  Learner() = default;
  Learner(const Learner&) = default;
  Learner& operator=(const Learner&) = default;

 private:
  friend std::unique_ptr<Learner> make_from(const Recipe& recipe);
  std::shared_ptr<const Recipe> recipe_;  // the same for all copies
};

/// The learner of this recipe. Throws as make_learner does.
std::unique_ptr<Learner> make_from(const Recipe& recipe);

/// A learner for these options. Throws std::invalid_argument, naming the field, if they are wrong.
std::unique_ptr<Learner> make_learner(const LearnerOptions& options);

/// A learner like this one for more outputs, for a stream of classes where a new one has come.
/// `auto` keeps what it has learnt; all others begin anew. Throws as make_learner does.
std::unique_ptr<Learner> widened(const Learner& learner, std::size_t outputs);

/// The same for raw data: inputs are standardised and targets mapped into the network's range with
/// running moments, using nothing a live stream would not know yet. Predictions come back in the
/// units of the targets. (Auto and baselines do so anyway.)
std::unique_ptr<Learner> make_scaled_learner(const LearnerOptions& options);

/// Names of the experts a learner of these options mixes, in the order of StepReport::weights; none
/// if it mixes none.
std::vector<std::string> expert_names(const LearnerOptions& options);

}  // namespace kalstream
