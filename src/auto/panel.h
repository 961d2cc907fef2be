// The experts of `auto` at work.
#pragma once

#include <span>
#include <vector>

#include "auto/experts.h"
#include "auto/scale.h"
#include "core/cloned.h"
#include "core/workers.h"

namespace kalstream {

/// One of them, and where it keeps a sample that it learns again.
struct Expert {
  Expert(ExpertPlan what, const Sight& sight);

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

  /// What it learnt is forgotten, and it says nothing …
  void send_to_sleep(std::size_t j) { experts_[j].learner.reset(); }
  /// … until it begins anew.
  Expert& wake(std::size_t j);

  /// job(expert) for every one that is awake, in any order and on any thread.
  template <class Job>
  void each(const Job& job) {
    workers_.run(size(), [&](std::size_t k) {
      if (Expert& e = experts_[by_cost_[k]]; e.is_awake()) job(e);
    });
  }

  /// What each says of what they see, in units of the targets: size × outputs; NaN where one is
  /// asleep. The view lives until the next call.
  std::span<const double> predict(std::span<const double> seen, const Scale& scale);
  void start_forecast();
  std::span<const double> forecast_next(std::span<const double> seen, const Scale& scale);

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
  void note(const Expert& expert, std::span<const double> d_hat, const Scale& scale);
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
