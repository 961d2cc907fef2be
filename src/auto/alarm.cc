#include "auto/alarm.h"

#include <algorithm>

#include "auto/constants.h"
#include "core/archive.h"

namespace kalstream {
bool Alarm::rings(double squared_error) {
  ++since_;
  const double n = static_cast<double>(since_);
  usual_ += std::max(1 / n, constants::usual_pace) * (squared_error - usual_);
  present_ += std::max(1 / n, constants::present_pace) * (squared_error - present_);
  if (since_ < constants::alarm_pause || present_ <= constants::alarm * usual_) return false;
  since_ = 0;
  return true;
}

void Alarm::exchange(Archive& archive, std::uint64_t samples) {
  archive.count(since_, samples);
  archive.number(usual_, Archive::not_negative);
  archive.number(present_, Archive::not_negative);
}

}  // namespace kalstream
