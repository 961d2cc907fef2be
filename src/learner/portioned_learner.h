// Learners that do their work in portions.
#pragma once

#include "kalstream/learner.h"

namespace kalstream {

/// A learner that has more to do than to learn the sample that comes, and does a portion of it with
/// each. Samples of the past can be learnt without it, so that it is left to later steps.
class PortionedLearner : public Learner {
 public:
  /// Learns a sample of the past, and leaves all else that there is to do to later work().
  virtual void remember(std::span<const double> x, std::span<const double> d) = 0;
  /// Does a portion of what there is to do. Whether the learner should not be asked before more of
  /// it is done.
  virtual bool work() = 0;
};

}  // namespace kalstream
