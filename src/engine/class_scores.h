// How good probabilities of classes have been.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

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

}  // namespace kalstream
