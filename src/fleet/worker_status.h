// How a worker is doing: for `fleet status`, and for Prometheus.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/log.h"
#include "monitor/latency.h"

namespace kalstream::fleet {

struct PartitionStatus {
  int partition = 0;
  std::string phase;  ///< "waiting", "snapshots", "replay", "live"
  Offset next = 0;    ///< input to be taken
  std::optional<Offset> lag;
  Offset to_replay = 0;
  std::uint64_t models = 0;
};

struct SlowKey {
  std::string key;
  double seconds = 0;  ///< that its slowest input took lately
};

struct WorkerStatus {
  std::string instance;
  std::string host;
  std::string version;
  std::string engine;
  std::int64_t pid = 0;
  std::int64_t time_ms = 0;  ///< since 1970
  double uptime_seconds = 0;

  std::vector<PartitionStatus> partitions;
  std::vector<SlowKey> slowest;

  std::uint64_t inputs = 0;  ///< answered
  std::uint64_t refused = 0;
  double inputs_per_second = 0;
  std::uint64_t replayed = 0;  ///< inputs, taken again without an answer
  std::uint64_t restores = 0;  ///< partitions
  double restore_seconds = 0;  ///< that the last one took
  std::uint64_t transactions = 0;
  std::uint64_t aborts = 0;
  double transaction_seconds = 0;  ///< that the last one took
  std::uint64_t snapshots = 0;
  std::uint64_t state_bytes = 0;  ///< of snapshots written
  std::uint64_t models = 0;
  std::uint64_t models_in_memory = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t resident_bytes = 0;
  LatencySummary work;  ///< of an input
};

/// What the topic of workers holds; docs/fleet.md describes it.
std::string to_json(const WorkerStatus& status);
/// Reads that. What a worker of another version does not say, or says otherwise, stays as it is.
void read_json(std::string_view json, WorkerStatus& status);

/// With one digit behind the point, as it is told.
double microseconds(double seconds);

/// As monitor/status.h writes a stream's; with kalstream_fleet_ before every name.
std::string prometheus_text(const WorkerStatus& status);

inline double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

/// What a worker has done, counted.
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
