// The experts of `auto` at work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "auto/experts.h"
#include "auto/scale.h"
#include "core/cloned.h"
#include "core/workers.h"

namespace kalstream {

/// A scale, and what all experts see of a sample on it.
struct ScaledSample {
  explicit ScaledSample(const Sight& sight)
      : scale(sight), seen(sight.size()), target(sight.outputs) {}

  Scale scale;
  std::vector<double> seen;
  std::vector<double> target;
};

/// One of them, and where it keeps a sample that it learns again.
struct Expert {
  Expert(ExpertPlan what, const Sight& sight);

  void exchange(Archive& archive);

  /// Its own stretch of what all see.
  std::span<const double> view(std::span<const double> all) const {
    return all.subspan(plan.first, plan.network.inputs);
  }
  /// The target as it learns it.
  std::span<const double> target_of(std::span<const double> standardised,
                                    std::span<const double> d) const {
    return plan.standardised ? standardised : d;
  }

  /// Has something to learn, and learns it now.
  bool is_awake() const { return learner != nullptr; }

  ExpertPlan plan;
  Cloned<Learner> learner;  ///< none while it sleeps, or without a network
  /// Takes the learner's place once it has learnt the samples in memory (begin_again).
  Cloned<Learner> next;
  std::uint64_t next_sample = 0;  ///< of the memory, that `next` learns next
  bool is_behind = false;         ///< the learner is on the scale of before, until `next` is ready
  double noise;
  StepReport report;                 ///< of the last step
  std::vector<double> again_seen;    ///< of a sample learnt again …
  std::vector<double> again_target;  ///< … standardised
};

/// All experts, shared by threads: they know nothing of each other.
class Panel {
 public:
  Panel(const Auto& options, const NetworkOptions& network);

  std::size_t size() const { return experts_.size(); }
  const Expert& operator[](std::size_t j) const { return experts_[j]; }
  Expert& operator[](std::size_t j) { return experts_[j]; }

  /// What it learnt is forgotten, and it says nothing until it begins again.
  void send_to_sleep(std::size_t j);

  /// job(expert) for every one that has a network, in any order and on any thread.
  template <class Job>
  void each(const Job& job) {
    workers_.run(size(), [&](std::size_t k) {
      if (Expert& e = experts_[by_cost_[k]]; e.plan.has_network()) job(e);
    });
  }
  /// The same for those that are awake.
  template <class Job>
  void each_awake(const Job& job) {
    each([&](Expert& e) {
      if (e.is_awake()) job(e);
    });
  }
  /// Whether some are still on the scale of before.
  bool are_some_behind() const {
    return std::ranges::any_of(experts_, [](const Expert& e) { return e.is_behind; });
  }

  /// What each says of what they see, in units of the targets: size × outputs; NaN where one is
  /// asleep. Those that are behind see the second. The view lives until the next call.
  std::span<const double> predict(const ScaledSample& now, const ScaledSample& before);
  void start_forecast();
  std::span<const double> forecast_next(const ScaledSample& now, const ScaledSample& before);

  /// The variance of what predict has returned, relative to that of the noise, (HPHᵀ + r)/r: size ×
  /// outputs; 1 for an expert that cannot tell.
  std::span<const double> relative_variance();

  /// What their networks reported of the last step, added up.
  StepReport report() const;
  /// The same of their states, without weights.
  LearnerState state() const;

  void reset();
  void exchange(Archive& archive);

 private:
  void begin(std::span<const double> seen);
  template <class Ask>
  void note(Expert& expert, const ScaledSample& sample, const Ask& ask);
  std::size_t place_of(const Expert& expert) const {
    return static_cast<std::size_t>(&expert - experts_.data()) * outputs_;
  }

  std::size_t outputs_;
  std::vector<Expert> experts_;
  std::vector<std::size_t> by_cost_;  // the most expensive first
  std::vector<double> d_hat_;         // size × outputs
  std::vector<double> relative_variance_;
  Workers workers_;
};

}  // namespace kalstream
