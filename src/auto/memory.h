// What the experts of `auto` remember and repeat.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/constants.h"
#include "auto/experts.h"
#include "auto/row_memory.h"
#include "core/finite.h"

namespace kalstream {

class Archive;
class Scale;
struct Expert;

/// The last samples as they came, and of the newest of them the targets before each: an expert that
/// looks at those begins again with the first samples only, or with a few after a change.
class SampleMemory {
 public:
  struct Sample {
    std::span<const double> x;
    std::span<const double> past;  ///< targets, the newest first
    bool knows_past;               ///< otherwise they are those of another sample
    std::span<const double> d;     ///< NaN if it was not believed
    bool is_whole() const { return all_finite(x) && all_finite(d); }
  };

  explicit SampleMemory(const Sight& sight, std::size_t capacity = constants::memory)
      : sight_(sight),
        rows_(sight.inputs + sight.outputs, capacity),
        pasts_(sight.lags * sight.outputs, constants::memory_with_past) {}

  void push(std::span<const double> x, std::span<const double> past, std::span<const double> d);
  std::size_t size() const { return rows_.size(); }
  /// All there have been, also those no longer remembered.
  std::uint64_t count() const { return rows_.count(); }
  /// The sample `age` ≥ 1 steps ago.
  Sample operator[](std::size_t age) const;
  /// Forgets all but the newest.
  void keep(std::size_t newest) { rows_.keep(newest); }
  void reset() { keep(0); }
  void exchange(Archive& archive);

 private:
  Sight sight_;
  RowMemory rows_;   // x ; d
  RowMemory pasts_;  // of the newest
};

/// The expert's learner learns a few of the samples in memory once more, as many as its plan says,
/// with the scale as it is now. Which ones depends on the step and the turn alone.
void replay(Expert& expert, Learner& learner, const SampleMemory& memory, const Scale& scale,
            std::uint64_t step, std::uint64_t turn = 0);

/// The expert begins again: from now on its next learner learns the samples in memory, or the
/// newest of them. Where there is no memory for two learners, the expert is silent meanwhile.
void begin_again(Expert& expert, const SampleMemory& memory,
                 std::size_t newest = constants::memory);

/// Teaches the expert's next learner at most so many of the samples in memory, with replays after
/// each. When it knows all of them, and has done what it has to do, it takes its place.
void prepare(Expert& expert, const SampleMemory& memory, const Scale& scale, std::uint64_t step,
             std::size_t samples);

}  // namespace kalstream
