#include "auto/alarm.h"

#include <algorithm>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr double of_alarm = 4;        // times the usual squared error
constexpr std::uint64_t quiet = 200;  // samples after it rang
constexpr double pace_of_usual = 1.0 / 500;
constexpr double pace_of_present = 1.0 / 16;

}  // namespace

bool Alarm::rings(double squared_error) {
  ++since_;
  const double n = static_cast<double>(since_);
  usual_ += std::max(1 / n, pace_of_usual) * (squared_error - usual_);
  present_ += std::max(1 / n, pace_of_present) * (squared_error - present_);
  if (since_ < quiet || present_ <= of_alarm * usual_) return false;
  since_ = 0;
  return true;
}

void Alarm::exchange(Archive& archive, std::uint64_t samples) {
  archive.count(since_, samples);
  archive.number(usual_, Archive::not_negative);
  archive.number(present_, Archive::not_negative);
}

}  // namespace kalstream
