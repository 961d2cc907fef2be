// A learner as C holds it, with what goes along with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/guard.h"
#include "kalstream/forecaster.h"
#include "kalstream/interval.h"
#include "kalstream/learner.h"
#include "kalstream/surprise.h"

namespace kalstream::capi {

/// What may go along with a learner.
struct Companions {
  double coverage = 0;
  bool surprise = false;
  std::size_t horizon = 0;

  bool any() const { return coverage > 0 || surprise || horizon > 0; }
};

/// Settings as C gives them.
using Pairs = std::vector<std::pair<std::string, std::string>>;
Pairs pairs_in(const char* const* settings);

/// Takes those of the companions out of the list. Throws std::invalid_argument.
Companions take_companions(Pairs& settings);

/// Throws KALSTREAM_MEMORY if a learner of these options needs more than the machine has.
void require_memory(const LearnerOptions& options);

}  // namespace kalstream::capi

struct kalstream_learner : kalstream::capi::Handle {
  kalstream_learner(std::unique_ptr<kalstream::Learner> made,
                    const kalstream::capi::Companions& with);
  kalstream_learner(const kalstream_learner& other);
  kalstream_learner& operator=(const kalstream_learner&) = delete;

  kalstream::StepReport learn(std::span<const double> x, std::span<const double> d);
  kalstream::StepReport advance(std::span<const double> x);
  kalstream::StepReport observe(std::span<const double> x, std::span<const double> d);

  std::unique_ptr<kalstream::Learner> learner;
  kalstream::capi::Companions companions;
  std::optional<kalstream::Intervals> intervals;
  std::optional<kalstream::Surprise> surprise;
  std::optional<kalstream::Forecaster> forecaster;
  std::vector<std::string> experts;  // their names

 private:
  std::vector<kalstream::Interval> bounds_;              // of the sample being learnt
  std::vector<kalstream::Surprise::Expected> expected_;  // of its targets
};
