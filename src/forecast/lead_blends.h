// Forecasts of each lead, blended out of many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "auto/belief.h"
#include "auto/blend.h"
#include "auto/range.h"
#include "forecast/direct.h"
#include "forecast/lead_range.h"
#include "kalstream/learner.h"

namespace kalstream {

/// For every lead and output a Blend of its own, over
///
///   - what the learner's experts that know time say, step by step
///   - what the learner itself says, step by step
///   - the last value
///   - a model of exactly this lead
///
/// which learns when the target of a forecast is there. Errors of a lead k go on for some k
/// samples: only one of 4 + 2k counts, and no weight is dealt out anew any faster.
class LeadBlends {
 public:
  LeadBlends(const Learner& learner, std::size_t horizon);

  /// The learner has taken a sample; d is empty if its target is missing.
  void learn(const Learner& learner, std::span<const double> d);

  /// Forecasts are made after the last sample …
  void start();
  /// … of the sample `lead` after it, one by one: d̂ comes as the learner says, and becomes what the
  /// blend says. The learner has just said it, x are the inputs.
  void improve(const Learner& learner, std::size_t lead, std::span<const double> x,
               std::span<double> d_hat);

  void reset();
  void exchange(Archive& archive);

 private:
  // What was said after one sample, until all its targets are known.
  struct Origin {
    std::uint64_t sample = 0;
    std::size_t leads = 0;
    std::vector<double> said;  // horizon × outputs × candidates
    std::vector<double> x;     // horizon × inputs that are seen
  };

  static constexpr std::size_t most_origins = 64;
  static constexpr std::size_t most_direct = 192;  // leads with a model of their own
  static constexpr std::size_t most_inputs = 8;    // that these look at

  std::size_t place(std::size_t lead, std::size_t k) const { return (lead - 1) * n_d_ + k; }
  SeriesUnits units(std::size_t k) const { return {seen_.mean(k), seen_.deviation(k), 1}; }
  std::span<const double> said(const Origin& origin, std::size_t lead, std::size_t k) const {
    return std::span(origin.said).subspan(place(lead, k) * candidates_, candidates_);
  }
  /// Which of what was said at the origin was said of the last sample; 0 if nothing was.
  std::size_t lead_of(const Origin& o) const {
    return samples_ > o.sample && samples_ - o.sample <= o.leads ? samples_ - o.sample : 0;
  }
  void learn_blends(std::span<const double> d);
  void learn_direct();
  void widen(std::span<const double> d);

  std::size_t n_d_;
  std::size_t inputs_;  // that are seen
  std::size_t horizon_;
  std::size_t candidates_;
  std::size_t stride_;               // samples from one origin that is learnt from to the next
  std::vector<Blend> blends_;        // horizon × outputs
  std::vector<DirectModel> direct_;  // the same, for the first leads
  std::vector<Origin> origins_;      // the sample s is at s/stride modulo their number
  std::optional<std::size_t> now_;   // which of them notes what is said; none: nobody
  std::uint64_t samples_ = 0;
  Periods periods_;
  std::vector<LongPast> past_;  // of each output
  RunningMoments seen_;         // targets
  RunningMoments level_;        // the same, since they were at another level
  RunningMoments inputs_seen_;
  TargetRange range_;
  std::vector<LeadRange> beyond_;  // of each output
  Belief belief_;
  std::vector<double> q_;
  std::vector<double> x_;
  std::vector<double> next_;  // what was said of the next sample
};

}  // namespace kalstream
