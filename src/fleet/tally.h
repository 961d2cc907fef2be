// What a worker has done, counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "fleet/log.h"
#include "fleet/worker_status.h"
#include "monitor/latency.h"

namespace kalstream::fleet {

inline double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

class Tally {
 public:
  void count_answer(std::string_view key, double seconds);
  /// Inputs of all partitions, answered or taken again, in so much time.
  void count_work(std::size_t inputs, double seconds);
  void count_restore(double seconds, std::uint64_t replayed);
  void count_messages(std::span<const Message> given_to_be_committed);

  /// Once a second; then rates are those of that second.
  bool a_second_has_passed();
  void forget_slow() { counted_.slowest.clear(); }

  double seconds_per_input() const { return seconds_per_input_; }  ///< lately; 0: not known yet
  bool is_busy() const { return is_busy_; }  ///< more than half of the last second

  /// What is counted here; the rest is left open.
  WorkerStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point started_ = Clock::now();
  Clock::time_point second_begun_ = started_;
  std::uint64_t inputs_before_ = 0;  // this second
  double busy_seconds_ = 0;          // of this second
  double seconds_per_input_ = 0;
  bool is_busy_ = false;
  LatencyHistogram work_;
  WorkerStatus counted_;  // its slowest keys: the slowest first
};

}  // namespace kalstream::fleet
