// Rare events that an input announces.
#pragma once

#include <span>
#include <vector>

#include "core/cloned.h"
#include "core/moments.h"
#include "kalstream/learner.h"

namespace kalstream {

/// A target beyond belief together with an unusual input is an event, not a fault: the experts do
/// not see it, but a linear model of what comes on top of their prediction learns it, and adds that
/// the next time inputs are unusual. It learns from all unusual samples after the first event, and
/// has a say as long as errors would have been larger without.
class Announced {
 public:
  Announced(std::size_t inputs, std::size_t outputs);

  /// Inputs of a sample. True if they are so far off that they may announce something.
  bool see(std::span<const double> x, const RunningMoments& inputs);

  /// What comes on top of d̂ for these inputs, if they are unusual; added to it.
  void add_to(std::span<double> d_hat);
  /// The target of these inputs, of which the experts said d̂.
  void learn(std::span<const double> d_hat, std::span<const double> d, bool is_event);

  void reset();
  void exchange(Archive& archive);

 private:
  bool has_a_say() const { return unit_ > 0 && loss_with_ < loss_without_; }

  Cloned<Learner> model_;
  double unit_ = 0;  // size of the first event; 0: there was none
  double loss_with_ = 0;
  double loss_without_ = 0;
  std::vector<double> seen_;  // inputs in deviations, and whether they are …
  bool unusual_ = false;      // … unusual
  std::vector<double> target_;
};

}  // namespace kalstream
