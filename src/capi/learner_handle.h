// A learner as C holds it, with what goes along with it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/guard.h"
#include "kalstream/calibrated.h"

namespace kalstream::capi {

/// Settings as C gives them.
using Pairs = std::vector<std::pair<std::string, std::string>>;
Pairs pairs_in(const char* const* settings);

/// Takes the settings of the calibration out of the list. Throws std::invalid_argument.
CalibrationOptions take_calibration(Pairs& settings);

}  // namespace kalstream::capi

struct kalstream_learner : kalstream::capi::Handle {
  explicit kalstream_learner(kalstream::CalibratedLearner made);

  kalstream::Learner& learner() { return calibrated.learner(); }

  kalstream::CalibratedLearner calibrated;
  std::vector<std::string> experts;  // their names
  kalstream::CalibratedLearner::Prediction said;
};
