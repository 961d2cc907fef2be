// How strange a value is, given what had been predicted.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kalstream/interval.h"

namespace kalstream {

class Archive;

/// For each output the probability of a value at least so far off as the one that came: off from
/// its prediction, or off from where values have been, whichever is the rarer (docs/anomalies.md).
/// It is calibrated as the stream goes: while the stream stays what it is, about a part p of all
/// values has a surprise of p or less.
///
///     Surprise surprise(learner->outputs());
///     …
///     auto d_hat = learner->predict(x);
///     auto expected = surprise.expect(d_hat, learner->spread());
///     double p = surprise.of(expected, d)[0];  // 0.5: ordinary; 1e-6: look at it
///     surprise.learn(expected, d);
///     learner->learn(x, d);
///
/// Where targets come late, keep a copy of what was expected (they are plain values) until the
/// target is there; any number may be outstanding, those lost are just never learnt. A target that
/// is not finite, or beyond ±1e100, has no surprise (NaN) and changes nothing; nor has any before
/// ten errors are known. Once constructed nothing allocates, throws or prints.
class Surprise {
 public:
  using Expected = Interval::Origin;

  explicit Surprise(std::size_t outputs);
  Surprise(const Surprise& other);
  Surprise& operator=(const Surprise& other);
  ~Surprise();

  std::size_t outputs() const { return expected_.size(); }

  /// What is expected of every output; `spread` is Learner::spread() of the same prediction, or
  /// empty. Changes nothing that later calls return. The view lives until the next call.
  std::span<const Expected> expect(std::span<const double> d_hat,
                                   std::span<const double> spread = {});

  /// The surprise of each output, from 0 to 1; NaN where there is no telling. Changes nothing that
  /// later calls return. The view lives until the next call.
  std::span<const double> of(std::span<const Expected> expected, std::span<const double> d);

  /// Learns how far off the values were, and where they are. A single one, however far, counts no
  /// more than the rarest there could have been.
  void learn(std::span<const Expected> expected, std::span<const double> d);

  /// Whether one of them is rare enough to be told, if a part `alarm_rate` of ordinary samples may
  /// be told by mistake: p ≤ alarm_rate / outputs.
  static bool is_anomaly(std::span<const double> surprise, double alarm_rate);

  /// Back to the state after construction.
  void reset();

  /// All that has been learnt, to or from a snapshot; from one only after construction.
  void exchange(Archive& archive);

 private:
  class Output;

  std::vector<Output> of_;
  std::vector<Expected> expected_;
  std::vector<double> surprise_;
};

}  // namespace kalstream
