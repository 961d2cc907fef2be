// Bounds around predictions that hold the target as often as promised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// Bounds for one number, and what Intervals::learn has to know of the moment they were made at: a
/// plain value, to be kept until the target is known.
struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN();  ///< both NaN while there is no telling
  double high = std::numeric_limits<double>::quiet_NaN();

  double d_hat = 0;      ///< what they are around
  double scale = 0;      ///< σ: the mean |d − d̂| that was expected; 0 while there is no telling
  double unrest = 0;     ///< log of recent errors, relative to the usual
  double doubt = 0;      ///< log of the learner's spread, relative to the usual
  double log_spread = std::numeric_limits<double>::quiet_NaN();  ///< NaN if there was none
};

/// Calibrated intervals for the predictions of one learner, or for its forecasts so many steps
/// ahead: of all targets, `coverage` lie within them, whatever the stream does (docs/intervals.md).
///
///     Intervals intervals(learner->outputs(), 0.9);
///     auto d_hat = learner->predict(x);
///     auto bounds = intervals.around(d_hat, learner->spread());    // of bounds[0].low … .high
///     intervals.learn(bounds, d);                                  // when d is known
///
/// Targets may come late: copy the bounds, and learn each when its target is there. A target that
/// is missing is not learnt, and NaN changes nothing. Nothing but the constructor and copies
/// allocates or throws.
class Intervals {
 public:
  /// Errors before the first bounds: until then they are NaN, and not counted.
  static constexpr std::uint64_t first_bounds = 10;

  /// Throws std::invalid_argument unless 0 < coverage < 1.
  explicit Intervals(std::size_t outputs, double coverage = 0.9);
  Intervals(const Intervals& other);
  Intervals& operator=(const Intervals& other);
  ~Intervals();

  std::size_t outputs() const;
  double nominal() const { return nominal_; }

  /// Bounds for every output. `spread` is the learner's (Learner::spread); empty if there is none.
  /// Changes nothing. The view lives until the next call.
  std::span<const Interval> around(std::span<const double> d_hat,
                                   std::span<const double> spread = {});

  /// Learns from targets d what bounds that around() made should have been.
  void learn(std::span<const Interval> intervals, std::span<const double> d);

  /// Targets of output k that had bounds, and the fraction of them within: of all, and of the last
  /// thousand or so (a running mean). NaN before there is one.
  std::uint64_t counted(std::size_t k = 0) const;
  double coverage(std::size_t k = 0) const;
  double recent_coverage(std::size_t k = 0) const;

  /// Back to the state after construction.
  void reset();

  /// All that has been learnt, to or from a snapshot.
  void exchange(Archive& archive);

 private:
  class Output;

  double nominal_;
  std::vector<Output> of_;
  std::vector<Interval> bounds_;
};

}  // namespace kalstream
