// The time of a stream: how far its samples are apart, which are missing, which came too late.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/time_step.h"

namespace kalstream {

class Archive;

/// Follows the moments of one model's samples. The step between them is found from the first few,
/// and found again when it changes; what it is tells how many samples are missing before one.
///
/// Samples before the last one are late, and those of the same moment repeat it: neither is to be
/// learnt. But where every other sample is, they do not tell the time: a clock that was set back is
/// followed from there, and times that several samples share are no clock at all.
class StreamClock {
 public:
  enum class Kind : std::uint8_t { next, late, repeated };
  struct Verdict {
    Kind kind = Kind::next;
    std::uint64_t missing = 0;  ///< samples between the last one and this: to be passed
  };
  static constexpr std::uint64_t longest_gap = 10'000;  ///< in steps; a longer one is not passed

  /// A sample of this moment has come; `calendar`: it is one of the calendar, not of some counter.
  Verdict take(std::int64_t moment, bool calendar = true);
  /// One that does not tell its time: it is taken for the next.
  void take_undated();

  /// Nothing before it is found, and while there is none.
  const std::optional<TimeStep>& step() const { return step_; }
  /// There are enough samples to tell that they come at any time.
  bool is_irregular() const { return irregular_ && !off_; }
  bool is_off() const { return off_; }
  bool has_started() const { return started_; }
  std::int64_t last() const { return last_; }

  /// n samples after the last one; nothing while no step is known.
  std::optional<std::int64_t> after(std::uint64_t n) const;
  /// Seconds since the sample before the last one, at the moment of this one; the median of the
  /// last ones for a moment that is not later, or not known.
  double elapsed(std::optional<std::int64_t> moment = {}) const;

  /// What a learner can be told of seasons: none while no step is known.
  std::vector<double> periods() const;
  /// "1 hour", "irregular", "not known yet".
  std::string text() const;

  /// What people should know, since the last call: that the step was found, has changed, and the
  /// like. Empty: nothing.
  std::string take_remark();

  void exchange(Archive& archive);

 private:
  void start_at(std::int64_t moment);
  void look_for_step();
  Verdict turn_away(Kind kind, std::int64_t moment);
  std::uint64_t steps_to(std::int64_t moment);
  void remark(const std::string& text);

  bool started_ = false;
  bool calendar_ = true;
  bool off_ = false;
  bool irregular_ = false;
  std::optional<TimeStep> step_;
  std::int64_t last_ = 0;  // moment of the last sample that was next
  double offset_ = 0;      // of the grid's moment from it: samples come more or less in time
  std::vector<std::int64_t> moments_;  // the last few
  std::uint64_t turned_away_ = 0;      // bits: which of the last eight samples were
  std::uint64_t repeated_ = 0;         // and which of them repeated the last
  std::uint64_t since_restart_ = 0;    // samples
  bool restarted_ = false;
  std::string remark_;  // not part of a checkpoint
};

}  // namespace kalstream
