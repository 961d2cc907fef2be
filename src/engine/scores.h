// How good predictions and their bounds have been: of one model, or of all of a stream.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/class_scores.h"
#include "engine/running_score.h"
#include "kalstream/interval.h"

namespace kalstream {

/// Which class a target is: the one that is 1.
inline std::size_t class_in(std::span<const double> d) {
  return static_cast<std::size_t>(std::max_element(d.begin(), d.end()) - d.begin());
}

class Scores {
 public:
  explicit Scores(std::size_t targets) : errors_(targets) {}
  /// Of probabilities of classes: d says which came.
  static Scores of_classes() {
    Scores scores(1);
    scores.classes_.emplace();
    return scores;
  }

  /// What had been predicted, its bounds (none, or not a number: not counted), and what it was.
  void add(std::span<const double> d_hat, std::span<const Interval> interval,
           std::span<const double> d);

  const RunningScore& errors() const { return errors_; }
  const ClassScores* classes() const { return classes_ ? &*classes_ : nullptr; }
  std::uint64_t intervals() const { return intervals_; }
  double coverage() const;                            ///< NaN before the first interval
  double recent_coverage() const { return recent_; }  ///< of about the last thousand

  void exchange(Archive& archive);

 private:
  RunningScore errors_;
  std::optional<ClassScores> classes_;
  std::uint64_t intervals_ = 0;  // scored …
  std::uint64_t held_ = 0;       // … and of them, with the target inside
  double recent_ = 0;            // a running mean
};

/// What a stream has counted since its beginning.
struct Counts {
  std::uint64_t records = 0;    ///< of any kind
  std::uint64_t refused = 0;    ///< could not be used
  std::uint64_t samples = 0;    ///< predicted
  std::uint64_t learnt = 0;     ///< with a target
  std::uint64_t missing = 0;    ///< passed without one
  std::uint64_t late = 0;       ///< targets of samples that did not wait any more
  std::uint64_t gated = 0;      ///< updates the rule held back
  std::uint64_t rejected = 0;   ///< updates that would have done harm
  std::uint64_t held = 0;       ///< missing inputs, the last value taken for each
  std::uint64_t untimely = 0;   ///< samples whose time had passed: not learnt
  std::uint64_t repeated = 0;   ///< samples of the last one's time: not learnt again
  std::uint64_t passed = 0;     ///< samples that never came, by their time
  std::uint64_t anomalies = 0;  ///< targets told as such

  void exchange(Archive& archive);
};

}  // namespace kalstream
