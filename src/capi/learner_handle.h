// A learner as C holds it, with what goes along with it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capi/guard.h"
#include "kalstream/calibrated.h"

namespace kalstream::capi {

/// Of what kalstream_learner_save gave, the learner's snapshot; other bytes as they are.
std::span<const std::byte> snapshot_in(std::span<const std::byte> bytes);

}  // namespace kalstream::capi

struct kalstream_learner : kalstream::capi::Handle {
  explicit kalstream_learner(kalstream::CalibratedLearner made);

  kalstream::Learner& learner() { return calibrated.learner(); }

  kalstream::CalibratedLearner calibrated;
  std::vector<std::string> experts;  // their names
  kalstream::CalibratedLearner::Prediction said;
};
