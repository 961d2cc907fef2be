#include "fleet/tally.h"

#include <algorithm>
#include <functional>

namespace kalstream::fleet {

void Tally::count_answer(std::string_view key, double took) {
  ++inputs_;
  work_.record(took);
  constexpr std::size_t enough = 5;
  if (slow_.size() == enough && took <= slow_.back().seconds) return;
  const auto same = std::ranges::find(slow_, key, &SlowKey::key);
  if (same != slow_.end())
    same->seconds = std::max(same->seconds, took);
  else
    slow_.push_back({std::string(key), took});
  std::ranges::sort(slow_, std::greater{}, &SlowKey::seconds);
  if (slow_.size() > enough) slow_.pop_back();
}

// A mean over some 10,000 inputs.
void Tally::count_work(std::size_t inputs, double took) {
  busy_seconds_ += took;
  const double each = took / static_cast<double>(inputs);
  const double weight = std::min(1.0, static_cast<double>(inputs) / 10'000);
  seconds_per_input_ =
      seconds_per_input_ == 0 ? each : seconds_per_input_ + weight * (each - seconds_per_input_);
}

void Tally::count_restore(double took, std::uint64_t replayed) {
  ++restores_;
  restore_seconds_ = took;
  replayed_ += replayed;
}

void Tally::count_messages(std::span<const Message> messages) {
  for (const Message& m : messages) {
    refused_ += m.topic == Topic::dead ? 1 : 0;
    snapshots_ += m.topic == Topic::state && (m.value || m.image) ? 1 : 0;
  }
}

bool Tally::a_second_has_passed() {
  const auto now = Clock::now();
  const double since = seconds(now - second_begun_);
  if (since < 1) return false;
  inputs_per_second_ = static_cast<double>(inputs_ - inputs_before_) / since;
  is_busy_ = busy_seconds_ > 0.5 * since;
  inputs_before_ = inputs_;
  busy_seconds_ = 0;
  second_begun_ = now;
  return true;
}

void Tally::tell(WorkerStatus& s) const {
  s.uptime_seconds = seconds(Clock::now() - started_);
  s.slowest = slow_;
  s.inputs = inputs_;
  s.refused = refused_;
  s.inputs_per_second = inputs_per_second_;
  s.replayed = replayed_;
  s.restores = restores_;
  s.restore_seconds = restore_seconds_;
  s.snapshots = snapshots_;
  s.work = work_.summary();
}

}  // namespace kalstream::fleet
