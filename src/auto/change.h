// When a stream has changed, or was disturbed, in the eyes of `auto`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "auto/memory.h"
#include "auto/scale.h"

namespace kalstream {

class Archive;

/// Whether a sample is believed. One with a target more than twenty deviations off, or an input
/// more than a thousand, is not, unless it is the third such in a row; or the second, where targets
/// stay on one side of the mean: a new level.
class Belief {
 public:
  /// Samples before one can be beyond belief.
  static constexpr std::uint64_t first = 16;
  static bool judges(std::uint64_t samples) { return samples >= first; }

  struct Verdict {
    bool wild_target = false;  ///< far off …
    bool wild_input = false;
    bool believed = true;  ///< … and taken for real or not
    bool is_wild() const { return wild_target || wild_input; }
  };

  /// After `samples` targets, the moments of which are in the scale.
  Verdict judge(std::span<const double> x, std::span<const double> d, const Scale& scale,
                std::uint64_t samples);
  /// Whether the target judged last is real beyond doubt, and may widen the range of targets.
  bool is_sure(std::uint64_t samples) const;

  void reset() {
    targets_ = inputs_ = 0;
    side_ = 0;
  }
  void exchange(Archive& archive, std::uint64_t steps);

 private:
  int side_ = 0;             // of the last target beyond belief: above or below; 0: neither
  std::size_t enough_ = 3;   // in a row that are believed
  std::size_t targets_ = 0;  // beyond belief, in a row
  std::size_t inputs_ = 0;
};

/// Compares the squared error of the last 16 samples or so with the usual one, of some 500.
class Alarm {
 public:
  enum class Sign : std::uint8_t {
    none,
    /// Errors are suddenly far above the usual: what the stream was like before is of no more use.
    changed,
    /// Errors fell from far beyond what the targets' own variance explains: a disturbance is over,
    /// or a new level found. On the way all experts were thrown to where a network no longer
    /// learns.
    over,
  };

  /// The squared error of a sample, in variances of the targets, the last of `samples`.
  Sign look_at(double squared_error, std::uint64_t samples);

  void reset() { *this = {}; }
  void exchange(Archive& archive, std::uint64_t samples);

 private:
  std::uint64_t since_ = 0;  // samples since the last sign
  double usual_ = 0;
  double present_ = 0;
};

/// A disturbance in a learner's youth leaves a scale which fades only as samples add up. The calm
/// ones after it are the better youth: if they are next to nothing on that scale, and targets are
/// where they were before, the learner should begin anew with them; once.
class Disturbance {
 public:
  /// So many calm samples may take the place of all before them.
  static constexpr std::size_t calm = 256;

  explicit Disturbance(std::size_t outputs) : mean_before_(outputs), deviation_before_(outputs) {}

  /// A stretch of wild samples begins, goes on, or is one sample longer ago.
  void note(bool is_wild, const Scale& scale);
  bool asks_to_begin_anew(const SampleMemory& memory, const Scale& scale,
                          std::uint64_t samples) const;
  void note_begun_anew() { begun_anew_ = true; }
  bool begun_anew() const { return begun_anew_; }

  void reset();
  void exchange(Archive& archive, std::uint64_t steps);

 private:
  bool left_its_scale(const SampleMemory& memory, const Scale& scale) const;

  std::uint64_t since_ = 0;                             // samples since the last wild one; 0: none
  std::vector<double> mean_before_, deviation_before_;  // of the targets, when it began
  bool begun_anew_ = false;
};

}  // namespace kalstream
