// The scale that the experts of `auto` see a stream on.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/constants.h"
#include "auto/experts.h"
#include "auto/telling_inputs.h"
#include "core/moments.h"

namespace kalstream {

class Archive;

/// Moments that stand still, so that a network's inputs and targets keep their meaning: taken over
/// from the running ones when asked, and when these have moved away far.
class HeldMoments {
 public:
  explicit HeldMoments(std::size_t n) : running_(n), mean_(n, 0.0), deviation_(n, 1.0) {}

  void add(std::span<const double> v) { running_.add(v); }
  void hold();
  /// Takes over those that differ by more than twice the deviation, or by one in the mean.
  void follow();
  void reset();
  void exchange(Archive& archive);

  const RunningMoments& running() const { return running_; }
  double mean(std::size_t k) const { return mean_[k]; }
  double deviation(std::size_t k) const { return deviation_[k]; }
  double standardised(std::size_t k, double v) const { return (v - mean_[k]) / deviation_[k]; }
  double standardised(std::size_t k, double v, double reach) const {
    return std::clamp(standardised(k, v), -reach, reach);
  }

 private:
  void take_over(std::size_t k);

  RunningMoments running_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
};

/// Inputs and targets, standardised with held moments. While these are still poor, at 4, 8, … 64
/// samples, they are taken anew; the experts then have to start over, for what they learnt does not
/// fit another scale. Later the scale only follows what has moved far from it.
class Scale {
 public:
  explicit Scale(const Sight& sight)
      : sight_(sight), inputs_(sight.inputs), targets_(sight.outputs), telling_(sight) {}

  bool is_wide() const { return sight_.is_wide(); }

  /// Whether there is a scale yet, and so experts, after so many targets.
  static bool is_known(std::uint64_t samples) { return samples >= constants::first_scale; }
  /// Whether it is taken anew after this one.
  static bool is_due(std::uint64_t samples) {
    return samples >= constants::first_scale && samples <= constants::last_scale &&
           std::has_single_bit(samples);
  }
  static bool is_settled(std::uint64_t samples) { return samples > constants::last_scale; }

  /// What the experts see of inputs x after these targets, the newest first.
  void see(std::span<const double> x, std::span<const double> past, std::span<double> seen) const;
  void standardise_target(std::span<const double> d, std::span<double> target) const;
  /// A standardised prediction of target k, in its own units.
  double in_units(std::size_t k, double d_hat) const {
    return targets_.mean(k) + targets_.deviation(k) * d_hat;
  }

  void add_inputs(std::span<const double> x) { inputs_.add(x); }
  void add_targets(std::span<const double> d) { targets_.add(d); }
  void hold() {
    inputs_.hold();
    targets_.hold();
  }
  void follow() {
    inputs_.follow();
    targets_.follow();
  }
  /// Of a wide stream, chooses the inputs that networks see. Whether they are others now.
  bool choose(const SampleMemory& memory) {
    return sight_.is_wide() && telling_.choose(memory, *this);
  }
  /// The linear model of all inputs is this now.
  void follow_linear(std::span<const double> weights) { telling_.follow_linear(weights); }
  void reset();
  void exchange(Archive& archive);

  const HeldMoments& inputs() const { return inputs_; }
  const HeldMoments& targets() const { return targets_; }

 private:
  Sight sight_;
  HeldMoments inputs_;
  HeldMoments targets_;
  TellingInputs telling_;
};

}  // namespace kalstream
