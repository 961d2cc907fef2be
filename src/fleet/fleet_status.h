// How a whole fleet is doing: what the group, the offsets and the workers themselves tell.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/topics.h"
#include "fleet/worker_status.h"
#include "kafka/admin.h"

namespace kalstream::fleet {

struct FleetStatus {
  struct Partition {
    std::int32_t partition = 0;
    std::int64_t committed = -1;  ///< next input to be answered; −1: none was yet
    std::int64_t end = 0;
    std::int64_t lag = 0;
    std::string worker;  ///< empty: nobody's at the moment
    std::string phase;   ///< what that one says: "live", "replay", …
    std::int64_t to_replay = 0;
    std::uint64_t models = 0;
  };
  struct Worker : WorkerStatus {  ///< as it said last
    bool is_member = false;       ///< of the group, now
    double silent_seconds = 0;    ///< since its last word
    std::size_t assigned = 0;     ///< partitions that the group has given it
  };
  struct SlowKey : fleet::SlowKey {
    std::string worker;
  };

  std::string name;
  std::string input;
  std::string output;
  std::string learner;
  std::string group_state;
  std::vector<Partition> partitions;
  std::vector<Worker> workers;
  std::vector<SlowKey> slowest;  ///< the slowest first

  std::int64_t lag() const;
  std::uint64_t models() const;
};

/// Puts together what is known. `words`: the last of each instance. `now_ms`: since 1970. What a
/// worker of another version does not say is left open.
FleetStatus status_of(const KnownFleet& fleet, const kafka::Group& group,
                      const std::vector<kafka::TopicPartition>& committed,
                      const std::vector<kafka::TopicPartition>& ends,
                      const std::map<std::string, std::string>& words, std::int64_t now_ms);

/// Asks the cluster for all that.
FleetStatus look_at(kafka::Admin& admin, const KnownFleet& fleet);

std::string to_json(const FleetStatus& status);
/// For a terminal.
std::string to_text(const FleetStatus& status, bool colours);

}  // namespace kalstream::fleet
