// How good predictions and their bounds have been: of one model, or of all of a stream.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/archive.h"
#include "kalstream/interval.h"

namespace kalstream {

/// NaN: nothing to tell yet.
struct Errors {
  double nse = std::numeric_limits<double>::quiet_NaN();  ///< NaN too while targets do not vary
  double rmse = std::numeric_limits<double>::quiet_NaN();
  double mae = std::numeric_limits<double>::quiet_NaN();
};

/// With e = d − d̂ and n targets, over the scored samples:
///
///     NSE = Σ‖e‖² / Σ‖d − mean d‖²,   RMSE = √(mean ‖e‖²/n),   MAE = mean Σ|e_k|/n
///
/// once with equal weights and once with weights that decay by 1 − 1/window per sample. One pass,
/// by recursions for means (Welford's), whose rounding does not build up: a mean of 10⁹ samples is
/// as good as one of 10³.
class RunningScore {
 public:
  explicit RunningScore(std::size_t targets, double window = 1000)
      : all_(targets), recent_(targets), keep_(1 - 1 / window) {}

  /// False, and nothing changes, where a size is wrong or a number is not usable (core/finite.h).
  /// The caller decides which samples count: `kalstream run` leaves out those before the first
  /// target is known.
  bool add(std::span<const double> d_hat, std::span<const double> d);

  Errors all() const { return all_.errors(); }
  Errors recent() const { return recent_.errors(); }
  std::uint64_t count() const { return count_; }

  /// For a checkpoint; the number of targets must be the same on both sides.
  void exchange(Archive& archive);

 private:
  struct Means {
    explicit Means(std::size_t targets) : target(targets, 0.0) {}

    void add(std::span<const double> d_hat, std::span<const double> d, double keep);
    Errors errors() const;
    void exchange(Archive& archive);

    double weight = 0;           // Σ of the samples' weights
    double squared_error = 0;    // mean ‖e‖²
    double absolute_error = 0;   // mean Σ|e_k|
    std::vector<double> target;  // mean d
    double target_spread = 0;    // mean ‖d − mean d‖²
  };

  Means all_;
  Means recent_;
  double keep_;
  std::uint64_t count_ = 0;
};

/// NaN: nothing to tell yet.
struct ClassErrors {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double log_loss = unknown;  ///< mean −ln p of the class that came
  double accuracy = unknown;  ///< of the most probable class
  double kappa = unknown;     ///< Cohen's κ: accuracy beyond what frequencies alone would give
  double auc = unknown;  ///< mean over classes of the area under the curve, one against the rest
  double f1 = unknown;   ///< mean over classes of the harmonic mean of precision and recall
  double calibration = unknown;      ///< mean |confidence − accuracy| over ten bins of confidence
  double recent_log_loss = unknown;  ///< of about the last thousand
  double recent_accuracy = unknown;
};

/// One bin of confidence, the probability of the most probable class.
struct ReliabilityBin {
  std::uint64_t count = 0;
  double confidence = 0;  ///< mean
  double accuracy = 0;    ///< the part that was right
};

/// Counts, bounded by the number of classes, from which all of it follows. The area under the curve
/// is that of probabilities rounded to a hundredth.
class ClassScores {
 public:
  /// What each class had been given, and which one came. One that had no probability yet, being
  /// new, gets what a rule of succession leaves for it: 1/(n + 2) after n samples.
  void add(std::span<const double> p, std::size_t y);

  /// By the same rule, the probability of what came.
  double probability(std::span<const double> p, std::size_t y) const;

  ClassErrors errors() const;
  std::uint64_t count() const { return count_; }
  static constexpr std::size_t bins = 10;
  std::array<ReliabilityBin, bins> reliability() const;

  void exchange(Archive& archive);

 private:
  static constexpr std::size_t levels = 100;

  void widen(std::size_t classes);
  double area_under_curve() const;

  std::size_t classes_ = 0;
  std::uint64_t count_ = 0;
  double log_loss_ = 0;  // means
  double recent_log_loss_ = 0;
  double recent_accuracy_ = 0;
  std::vector<std::uint64_t> confusion_;  // [what came][what was most probable]
  std::vector<std::uint64_t> given_;      // [class][whether it came][level of its probability]
  std::array<ReliabilityBin, bins> bins_{};
};

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
  std::uint64_t alarms = 0;     ///< that have begun; kept by the engine's exchange()

  void exchange(Archive& archive);
};

}  // namespace kalstream
