#include "fleet/tally.h"

#include <algorithm>
#include <functional>

namespace kalstream::fleet {

void Tally::count_answer(std::string_view key, double took) {
  ++counted_.inputs;
  work_.record(took);
  constexpr std::size_t enough = 5;
  std::vector<SlowKey>& slowest = counted_.slowest;
  if (slowest.size() == enough && took <= slowest.back().seconds) return;
  const auto same = std::ranges::find(slowest, key, &SlowKey::key);
  if (same != slowest.end())
    same->seconds = std::max(same->seconds, took);
  else
    slowest.push_back({std::string(key), took});
  std::ranges::sort(slowest, std::greater{}, &SlowKey::seconds);
  if (slowest.size() > enough) slowest.pop_back();
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
  ++counted_.restores;
  counted_.restore_seconds = took;
  counted_.replayed += replayed;
}

void Tally::count_messages(std::span<const Message> messages) {
  for (const Message& m : messages) {
    counted_.refused += m.topic == Topic::dead ? 1 : 0;
    counted_.snapshots += m.topic == Topic::state && (m.value || m.image) ? 1 : 0;
  }
}

bool Tally::a_second_has_passed() {
  const auto now = Clock::now();
  const double since = seconds(now - second_begun_);
  if (since < 1) return false;
  counted_.inputs_per_second = static_cast<double>(counted_.inputs - inputs_before_) / since;
  is_busy_ = busy_seconds_ > 0.5 * since;
  inputs_before_ = counted_.inputs;
  busy_seconds_ = 0;
  second_begun_ = now;
  return true;
}

WorkerStatus Tally::status() const {
  WorkerStatus status = counted_;
  status.uptime_seconds = seconds(Clock::now() - started_);
  status.work = work_.summary();
  return status;
}

}  // namespace kalstream::fleet
