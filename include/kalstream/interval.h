// Bounds around predictions that hold the target as often as they should.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// Bounds for one number, low ≤ d ≤ high; both NaN while there is no telling.
struct Interval {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  double low = unknown;
  double high = unknown;

  bool holds(double d) const { return d >= low && d <= high; }
  /// Becomes as wide as it takes to contain others; unknown ones change nothing.
  void contain(const Interval& other) {
    if (other.low < low) low = other.low;
    if (other.high > high) high = other.high;
  }

  /// What Intervals::learn needs to know of the moment the bounds were made at; Surprise, too.
  struct Origin {
    double d_hat = unknown;
    double scale = 0;  ///< σ, the mean |d − d̂| that was expected; 0 if none was
    double usual = 0;  ///< ē, what it usually is; 0 if that is not known
    std::array<double, 3> features{};
    double log_spread = unknown;
    std::uint64_t learnt = 0;  ///< errors that were known

    void exchange(Archive& archive);
  } origin;

  /// To or from a snapshot, while its target is awaited.
  void exchange(Archive& archive);
};

/// Calibrated intervals around the predictions of one learner, or around its forecasts of one lead:
/// a part `coverage` of the targets lies within them, whatever the stream does (docs/intervals.md).
///
///     Intervals intervals(learner->outputs(), 0.9);
///     …
///     auto d_hat = learner->predict(x);
///     auto bounds = intervals.around(d_hat, learner->spread());  // bounds[0].low, bounds[0].high
///     learner->learn(x, d);
///     intervals.learn(bounds, d);
///
/// Where targets come late, keep a copy of the bounds (they are plain values) and learn when the
/// target is there, in any order; any number may be outstanding, and those whose target is lost are
/// just never learnt. A target that is not finite changes nothing. The first ten errors of an
/// output only tell their size: bounds are NaN until then, and not counted. After that none is
/// further from the targets learnt so far than ten times their range; where none of these was below
/// 0 no bound is, and where all were whole numbers bounds are. Once constructed nothing
/// allocates, throws or prints.
class Intervals {
 public:
  /// Throws std::invalid_argument unless 0 < coverage < 1.
  explicit Intervals(std::size_t outputs, double coverage = 0.9);
  Intervals(const Intervals& other);
  Intervals& operator=(const Intervals& other);
  ~Intervals();

  std::size_t outputs() const { return bounds_.size(); }
  double nominal() const { return nominal_; }

  /// Bounds for every output. `spread` is Learner::spread() of the same prediction, or empty.
  /// Changes nothing that later calls return. The view lives until the next call.
  std::span<const Interval> around(std::span<const double> d_hat,
                                   std::span<const double> spread = {});

  /// Learns what bounds made by around() should have been, now that their targets are known.
  void learn(std::span<const Interval> bounds, std::span<const double> d);

  /// Targets of output k that had bounds, and what part of them was within: of all, and of the last
  /// thousand or so (a running mean); NaN while there are none.
  std::uint64_t counted(std::size_t k = 0) const;
  double coverage(std::size_t k = 0) const;
  double recent_coverage(std::size_t k = 0) const;

  /// The guarantee: of any T targets learnt in a row at most (1 − coverage)T + excess(b, late) are
  /// outside of their bounds, as long as
  /// - no more than `late` others are learnt between any bounds and their own target; 0 if each
  ///   target is learnt before the next bounds are made;
  /// - errors are at most b times the scale that was expected, b ≤ 1e60;
  /// - no target is further from those learnt when its bounds were made than ten times their range,
  ///   nor the first below 0, nor the first that is no whole number.
  double excess(double b, std::uint64_t late = 0) const;

  /// Back to the state after construction.
  void reset();

  /// All that has been learnt, to or from a snapshot; from one only after construction.
  void exchange(Archive& archive);

 private:
  class Output;

  double nominal_;
  std::vector<Output> of_;
  std::vector<Interval> bounds_;
};

}  // namespace kalstream
