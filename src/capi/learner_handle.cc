#include "capi/learner_handle.h"

#include <charconv>

namespace kalstream::capi {
namespace {

template <class Number>
Number number_in(const std::string& key, const std::string& value) {
  Number v = {};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), v);
  if (error != std::errc() || end != value.data() + value.size())
    throw std::invalid_argument(key + ": '" + value + "' is not a number it can be");
  return v;
}

}  // namespace

Pairs pairs_in(const char* const* settings) {
  Pairs pairs;
  for (; settings != nullptr && *settings != nullptr; settings += 2) {
    if (settings[1] == nullptr)
      throw std::invalid_argument(std::string("settings: '") + settings[0] + "' has no value");
    pairs.emplace_back(settings[0], settings[1]);
  }
  return pairs;
}

CalibrationOptions take_calibration(Pairs& settings) {
  CalibrationOptions with;
  std::erase_if(settings, [&](const auto& setting) {
    const auto& [key, value] = setting;
    if (key == "interval") {
      with.coverage = number_in<double>(key, value);
      if (!(with.coverage > 0 && with.coverage < 1))
        throw std::invalid_argument("interval: write a number between 0 and 1, e.g. 0.9");
    } else if (key == "surprise") {
      if (value != "true" && value != "false")
        throw std::invalid_argument("surprise: write true or false");
      with.surprise = value == "true";
    } else if (key == "horizon") {
      with.horizon = number_in<std::size_t>(key, value);
      if (with.horizon < 1 || with.horizon > Forecaster::longest_horizon)
        throw std::invalid_argument("horizon: write a whole number from 1 to 1000");
    } else {
      return false;
    }
    return true;
  });
  return with;
}

}  // namespace kalstream::capi

kalstream_learner::kalstream_learner(kalstream::CalibratedLearner made)
    : calibrated(std::move(made)), experts(kalstream::expert_names(learner().recipe()->options)) {}
