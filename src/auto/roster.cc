#include "auto/roster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "auto/constants.h"
#include "core/archive.h"

namespace kalstream {
namespace {

// The mean of the first ones, then of the last ones.
void track_mean(double& mean, double v, double slowest, std::uint64_t n) {
  mean = std::lerp(mean, v, std::max(slowest, 1 / static_cast<double>(n + 1)));
}

}  // namespace

Roster::Roster(std::vector<bool> may_sleep) : seats_(may_sleep.size()) {
  for (std::size_t j = 0; j < seats_.size(); ++j) seats_[j].may_sleep = may_sleep[j];
  reset();
}

std::size_t Roster::asleep() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(seats_, [](const Seat& s) { return !s.awake; }));
}

void Roster::reset() {
  for (Seat& s : seats_) s = {.may_sleep = s.may_sleep, .nap = 2 * constants::trial};
  samples_ = pause_ = 0;
  usual_error_ = recent_error_ = error_at_sleep_ = 0;
}

void Roster::wake(std::size_t j) {
  seats_[j].awake = true;
  seats_[j].since = 0;
  seats_[j].moved = 0;
  change_.wake.push_back(j);
}

const Roster::Change& Roster::wake_all() {
  change_ = {};
  for (std::size_t j = 0; j < seats_.size(); ++j)
    if (!is_awake(j)) wake(j);
  pause_ = 0;
  return change_;
}

const Roster::Change& Roster::learn(std::span<const double> moved, double squared_error) {
  track_mean(usual_error_, squared_error, constants::usual_pace, samples_);
  track_mean(recent_error_, squared_error, constants::waking_pace, samples_);
  ++samples_;
  for (std::size_t j = 0; j < seats_.size(); ++j) {
    Seat& s = seats_[j];
    if (s.awake) track_mean(s.moved, moved[j], constants::usual_pace, s.since);
    ++s.since;
  }
  change_ = {};
  if (++pause_ < constants::roster_pause) return change_;
  if (asleep() > 0 && recent_error_ > constants::error_growth * error_at_sleep_) {
    wake_all();
    error_at_sleep_ = recent_error_;  // of those that fall asleep from now on
  } else if (!begin_trial()) {
    find_sleeper();
  }
  if (!change_.wake.empty() || !change_.sleep.empty()) pause_ = 0;
  return change_;
}

// Of one that has slept long enough.
bool Roster::begin_trial() {
  const auto rested =
      std::ranges::find_if(seats_, [](const Seat& s) { return !s.awake && s.since >= s.nap; });
  if (rested == seats_.end()) return false;
  rested->nap *= 2;
  wake(static_cast<std::size_t>(rested - seats_.begin()));
  return true;
}

// The one that counts least, if that is next to nothing.
void Roster::find_sleeper() {
  Seat* least = nullptr;
  for (Seat& s : seats_)
    if (s.may_sleep && s.awake && s.since >= constants::trial && s.moved < constants::least_moved &&
        (least == nullptr || s.moved < least->moved))
      least = &s;
  if (least == nullptr) return;
  least->awake = false;
  least->since = 0;
  change_.sleep.push_back(static_cast<std::size_t>(least - seats_.data()));
  error_at_sleep_ = usual_error_;
}

void Roster::exchange(Archive& archive) {
  for (Seat& s : seats_) {
    archive.flag(s.awake);
    archive.count(s.since);
    archive.count(s.nap);
    archive.number(s.moved, Archive::not_negative);
    archive.require(s.awake || s.may_sleep);
  }
  archive.count(samples_);
  archive.count(pause_);
  for (double* v : {&usual_error_, &recent_error_, &error_at_sleep_})
    archive.number(*v, Archive::not_negative);
}

}  // namespace kalstream
