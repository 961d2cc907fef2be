// One learner on a live stream, where targets may come late or not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/sample_reader.h"
#include "kalstream/interval.h"
#include "kalstream/learner.h"
#include "monitor/running_score.h"

namespace kalstream {

/// What all models of a stream have in common.
struct ModelOptions {
  static constexpr std::size_t longest_delay = 1'000'000;
  static constexpr std::size_t longest_horizon = 1000;

  bool learns = true;            ///< false: predicts only, and learns nothing from targets
  double coverage = 0;           ///< of intervals; 0: none
  std::size_t horizon = 0;       ///< samples to forecast after each
  std::size_t max_delay = 1000;  ///< samples that may come between one and its target
};

/// What a line is answered with. Views live until the model's next call.
struct Answer {
  enum class Status : std::uint8_t {
    predicted,  ///< the target is missing, or may still come
    learnt,     ///< the target came with the sample (if the model learns)
    labelled,   ///< this is the target of an earlier sample
    late,       ///< no sample of this id waits for a target
  };

  Status status = Status::predicted;
  std::uint64_t sample = 0;  ///< counted from 1; 0 if late
  std::span<const double> prediction;
  std::span<const Interval> interval;  ///< of the prediction; empty if not asked for
  std::span<const double> forecast;    ///< horizon × outputs
  std::span<const Interval> forecast_interval;
};

/// Hears what a model does with a line: the answer, and for each sample that it settles, scored (if
/// the target is known, and was not the first) and stepped.
class ModelListener {
 public:
  virtual ~ModelListener() = default;
  virtual void answered(const Answer& answer) = 0;
  /// A target is known: what had been predicted, and the bounds, if any.
  virtual void scored(std::span<const double> d_hat, std::span<const Interval> interval,
                      std::span<const double> d) = 0;
  virtual void stepped(const StepReport& report) = 0;
};

/// Learns samples in their order, whenever targets come: while one waits for its target, those
/// after it wait, too, and predictions are forecasts across them. So what is learnt depends on the
/// samples and their targets alone, and a prediction only on targets that had come before it. After
/// max_delay further samples the wait is over, and the sample counts as one without target. One
/// without id cannot be named later and does not wait.
class StreamModel {
 public:
  /// The learner must have a recipe, for checkpoints.
  StreamModel(std::unique_ptr<Learner> learner, const ModelOptions& options);

  /// Puts the last value of each input that is missing (NaN) in its place. False if one of them has
  /// not been seen yet: it is left as it is, and the sample cannot be taken.
  bool complete(std::span<double> x);

  /// One line of the stream: inputs or a label, as many as the learner has.
  void take(const Sample& sample, ModelListener& listener);

  const Learner& learner() const { return *learner_; }
  std::uint64_t samples() const { return samples_; }
  std::size_t pending() const { return pending_.size(); }
  const RunningScore& score() const { return score_; }
  const Intervals* intervals() const { return intervals_.empty() ? nullptr : &intervals_.front(); }
  /// What each expert counts; empty if there are none.
  std::vector<double> expert_weights() const;

  /// The number of the last line it took, which the caller keeps here.
  std::uint64_t line = 0;

  /// All of it, in and out of a checkpoint. What the options ask for anew (intervals of another
  /// coverage, another horizon) starts from nothing.
  std::vector<std::byte> to_bytes() const;
  /// As it was, or with these options. Throws as kalstream::load does.
  static std::unique_ptr<StreamModel> load(Archive& archive, const ModelOptions* options = nullptr,
                                           std::uint64_t most_memory = std::uint64_t{8} << 30);

 private:
  struct Waiting {
    std::string id;  // empty: no target will come
    std::vector<double> x;
    std::vector<double> d_hat;
    std::vector<Interval> interval;
    bool across = false;    // predicted across others that waited
    std::vector<double> d;  // empty: not yet there
  };

  // Forecasts made after sample `made_after`, horizon × outputs, until their targets are known.
  struct Forecast {
    std::uint64_t made_after = 0;
    std::vector<Interval> interval;
  };

  std::span<const double> predict(std::span<const double> x);
  void forecast(std::span<const double> x);
  void settle(ModelListener& listener);
  void step(std::span<const double> x, std::span<const double> d, std::span<const double> d_hat,
            std::span<const Interval> interval, bool across, ModelListener& listener);
  void learn_forecasts(std::span<const double> d);
  void take_label(const Sample& sample, ModelListener& listener);
  Waiting* waiting_for(const std::string& id);
  void start_intervals();
  void exchange(Archive& archive);

  std::unique_ptr<Learner> learner_;
  ModelOptions options_;
  std::uint64_t samples_ = 0;  // taken
  std::uint64_t settled_ = 0;  // of them, passed to the learner
  RunningScore score_;
  std::vector<double> last_x_;  // NaN: not seen yet
  bool target_known_ = false;   // the first is not scored: nothing could be known before it
  std::deque<Waiting> pending_;
  std::size_t ahead_ =
      0;  // of pending_, those the learner's forecast has passed; 0: none under way
  // Of predictions, of predictions across samples that wait, of forecasts by lead.
  std::vector<Intervals> intervals_;
  std::deque<Forecast> forecasts_;

  Answer answer_;
  std::vector<double> d_hat_;
  std::vector<Interval> interval_;
  std::vector<double> forecast_;
  std::vector<Interval> forecast_interval_;
};

}  // namespace kalstream
