// One learner on a live stream, where targets may come late or not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "alarms/alarms.h"
#include "engine/answer.h"
#include "engine/clock.h"
#include "engine/known_inputs.h"
#include "engine/listener.h"
#include "engine/scores.h"
#include "kalstream/calibrated.h"
#include "schema/sample.h"

namespace kalstream {

/// What all models of a stream have in common.
struct ModelOptions {
  static constexpr std::size_t longest_delay = 1'000'000;
  static constexpr std::size_t longest_horizon = Forecaster::longest_horizon;
  static constexpr std::size_t most_inner = 9;

  bool learns = true;              ///< false: predicts only, and learns nothing from targets
  double coverage = 0;             ///< of intervals; 0: none
  std::vector<double> inner = {};  ///< coverages of narrower ones within them, ascending
  bool surprise = false;           ///< how strange each target is
  double alarm_rate = 0;     ///< part of ordinary samples that may be told as anomalies; 0: none is
  AlarmOptions alarms = {};  ///< events that are told
  std::size_t horizon = 0;   ///< samples to forecast after each
  std::size_t max_delay = 1000;  ///< samples that may come between one and its target
  std::size_t warm_up = 0;       ///< first samples that are passed through: not scored, not learnt

  /// Of the season, in samples, as the user says: none, or those the times tell are not asked then.
  std::optional<std::vector<double>> periods = {};
  std::vector<bool> known_ahead = {};  ///< of every input: whether it may be
  bool holds_missing = false;          ///< inputs; otherwise the learner gets them as they are
  bool elapsed = false;                ///< the last input is the time since the sample before
  std::size_t max_classes = 0;         ///< that targets may be, where they are classes
};

/// What is expected after the last sample: leads × outputs.
struct Foresight {
  std::vector<double> value;       ///< NaN: not to be told
  std::vector<Interval> interval;  ///< empty: none
  std::vector<Interval> inner;     ///< narrower ones: leads × inner coverages × outputs
  std::vector<std::string> time;   ///< of each lead, as the stream writes it; empty: not known
  bool time_is_text = true;
};

/// Learns samples in their order, whenever targets come: while one waits for its target, those
/// after it wait, too, and predictions are forecasts across them. So what is learnt depends on the
/// samples and their targets alone, and a prediction only on targets that had come before it. After
/// max_delay further samples the wait is over, and the sample counts as one without target. One
/// without id cannot be named later and does not wait.
class StreamModel {
 public:
  /// The learner comes with begin(), before anything else is asked. For checkpoints it must have a
  /// recipe.
  explicit StreamModel(const ModelOptions& options);
  StreamModel(CalibratedLearner learner, const ModelOptions& options);
  void begin(CalibratedLearner learner);
  bool has_begun() const { return calibrated_.has_value(); }

  /// Where missing inputs (NaN) are held, puts the last value of each in its place. False if one of
  /// them has not been seen yet: it is left as it is, and the sample cannot be taken.
  bool complete(std::span<double> x);

  /// Whether it could: then complete() would.
  bool can_complete(std::span<const double> x) const;

  // Before a sample is taken, where it has a time. Its inputs that are known ahead and missing …
  void fill_known(Sample& sample) const;
  /// … whether it only brings inputs ahead of their time: no target, and nothing that would be
  /// known no sooner than the target …
  bool is_ahead(const Sample& sample) const;
  /// … which are kept until then …
  Answer keep_ahead(const Sample& sample);
  /// The inputs of the n-th sample after the last one are known ahead of their time.
  void announce(const Sample& sample, std::uint64_t n);
  /// … and whether it is the next one. Then samples that are missing before it are passed, with
  /// inputs as they were.
  StreamClock::Verdict arrive(const Sample& sample, StreamListener& listener);
  bool waits_for(const std::string& id) const { return waiting_for(id) > 0; }

  /// Whether the sample's class is one of those it knows, or may become one.
  bool has_room_for(const std::string& label) const;

  /// A sample or a label, of as many numbers as the learner has. The answer's views live until the
  /// next call. What it brings is learnt by learn(), so that the answer need not wait for that.
  Answer take(const Sample& sample, StreamListener& listener);
  void learn(StreamListener& listener);

  /// Somebody says whether the last alarm was one (Alarms::judge). False if there are no alarms.
  bool judge_alarm(bool real);

  /// So many samples ahead, the first of them with these inputs, row by row (NaN: as without them:
  /// known ahead, or held). Learns nothing, and changes no later answer. Up to the model's horizon
  /// as its samples are answered; beyond it by the learner alone, without bounds.
  Foresight foresee(std::size_t horizon, std::span<const double> inputs);

  const Learner& learner() const { return calibrated_->learner(); }
  /// The learner, with all it has learnt; nothing may be asked of the model any more.
  CalibratedLearner release() && { return *std::move(calibrated_); }
  bool of_classes() const;
  /// That have come so far, in the order in which they did.
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint64_t samples() const { return samples_ - passed_; }
  StreamClock& clock() { return clock_; }
  const StreamClock& clock() const { return clock_; }
  /// The last forecast had to hold inputs at their last value that could be known ahead.
  bool held_known() const { return held_known_; }
  std::size_t pending() const { return pending_.size(); }
  /// Memory that is taken by these, about.
  std::uint64_t waiting_bytes() const;
  const Scores& scores() const { return scores_; }
  /// What each expert counts; empty if there are none.
  std::vector<double> expert_weights() const;

  /// All of it, in and out of a checkpoint. What the options ask for anew (intervals of another
  /// coverage, another horizon, surprise) starts from nothing.
  std::vector<std::byte> to_bytes() const;
  /// What is in to_bytes() behind the learner's snapshot.
  std::vector<std::byte> beside_learner() const;
  /// As it was, or with these options. Throws as kalstream::load does, but does not look at the
  /// learner's checksum: there is one of all that is read.
  static std::unique_ptr<StreamModel> load(Archive& archive, const ModelOptions* options = nullptr,
                                           std::uint64_t most_memory = std::uint64_t{8} << 30);

 private:
  struct Waiting {
    std::uint64_t number = 0;  // of the sample, from 1; 0: it was missing and is only passed
    std::string id;            // empty: no target will come
    std::vector<double> x;
    CalibratedLearner::Prediction said;
    std::vector<double> d;  // empty: not yet there
  };

  std::vector<double> last_inputs() const;
  void predict_across(std::span<const double> x, CalibratedLearner::Prediction& to);
  void forecast(std::span<const double> x);
  void add_future(std::span<const double> x, std::size_t lead);
  void step(const Waiting& sample, StreamListener& listener);
  void pass(std::uint64_t missing, std::int64_t from, StreamListener& listener);
  void tell_periods(const std::vector<double>& periods);
  Answer take_label(const Sample& sample);
  std::uint64_t waiting_for(const std::string& id) const;
  void wait_for(const std::string& id, std::uint64_t sample);
  void wait_no_more(const std::string& id);
  CalibrationOptions calibration() const;
  void read_target(const Sample& sample, std::vector<double>& to);
  void widen();
  void judge(const Waiting& sample, Answer& answer);
  void look_for_alarm(const Sample& from, const Waiting& sample, Answer& answer);
  void start_alarms();
  void exchange(Archive& archive);
  void exchange_classes(Archive& archive);
  void exchange_waiting(Archive& archive);
  void exchange_time(Archive& archive);
  void exchange_alarms(Archive& archive);

  std::optional<CalibratedLearner> calibrated_;  // none before begin()
  ModelOptions options_;
  std::vector<std::string> classes_;
  std::uint64_t samples_ = 0;  // taken, and passed
  std::uint64_t passed_ = 0;   // of them, those that never came
  std::uint64_t settled_ = 0;  // of them, passed to the learner
  Scores scores_;
  std::vector<double> last_x_;   // NaN: not seen yet
  bool target_known_ = false;    // the first is not scored: nothing could be known before it
  Waiting now_;                  // a sample that nothing waits before, until it is learnt
  Waiting arriving_;             // one that has to wait, on its way to pending_
  bool owed_ = false;            // … as it has yet to be
  std::deque<Waiting> pending_;  // samples settled_ + 1, settled_ + 2, …
  // Samples that wait for a target, by id, those of the same id in their order.
  std::unordered_map<std::string, std::list<std::uint64_t>> waits_;
  std::size_t id_bytes_ = 0;  // of all ids there
  // Of pending_, those the learner's forecast has passed; 0: none under way.
  std::size_t ahead_ = 0;
  StreamClock clock_;
  std::optional<std::vector<double>> told_;  // periods the learner was told of
  KnownInputs known_;                        // by moments
  KnownInputs announced_;  // by numbers of samples: where times do not tell what is next
  bool held_known_ = false;

  std::optional<Alarms> alarms_;  // if they are asked for, and targets are numbers

  double class_surprise_ = 0;               // of the last class that came
  std::vector<double> future_;              // inputs of samples that wait and of those to come
  CalibratedLearner::Prediction answered_;  // of the last answer, if others waited before it
  std::vector<double> forecast_;
  std::vector<Interval> forecast_interval_;
  std::vector<Interval> forecast_inner_;
};

}  // namespace kalstream
