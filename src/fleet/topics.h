// The topics of a fleet: their names, how they have to be, and what is read from them as a whole.
#pragma once

#include <string>
#include <vector>

#include "fleet/fleet_record.h"
#include "kafka/admin.h"

namespace kalstream::fleet {

struct TopicNames {
  TopicNames(const std::string& name, std::string input_topic, std::string output_topic)
      : input(std::move(input_topic)),
        output(std::move(output_topic)),
        state(name + "-state"),
        dead(name + "-dead"),
        fleet(name + "-fleet"),
        workers(name + "-workers"),
        group(name) {}

  std::string input;
  std::string output;
  std::string state;    ///< snapshots of models; compacted, as many partitions as the input
  std::string dead;     ///< what could not be used, with the reason
  std::string fleet;    ///< FleetRecord, SchemaRecord; one partition, kept for ever
  std::string workers;  ///< what each worker tells of itself; one partition, compacted
  std::string group;
};

/// Creates what is missing; the input with so many partitions, others with as many as it has.
/// Returns the names of those that were. `replication` −1: as the cluster has it.
std::vector<std::string> create_topics(kafka::Admin& admin, const TopicNames& names,
                                       std::int32_t partitions, std::int32_t replication);

/// Inputs of a partition that a worker takes again at most after a crash, where nobody has said
/// otherwise (--snapshot-every).
inline constexpr std::int64_t usual_replay = 100'000;

/// How many partitions the input has. Throws DataError, naming the topic, what it has and needs and
/// a command that mends it, if one of them is missing or not as it has to be. `replay`: inputs of a
/// partition that may have to be read again after a crash. What people should know is said.
std::int32_t check_topics(kafka::Admin& admin, const TopicNames& names, std::int64_t replay);

FleetRecords read_records(const kafka::Admin& admin, const TopicNames& names);

/// Appends a record to the fleet's topic, and gives those that count: somebody may have been
/// faster.
FleetRecords append_value(const kafka::Admin& admin, const TopicNames& names, const char* key,
                          const std::string& value);
template <typename Record>
FleetRecords append_record(const kafka::Admin& admin, const TopicNames& names,
                           const Record& record) {
  return append_value(admin, names, Record::message_key, to_json(record));
}

/// Connects, and finds the fleet of this name, whose input and output nobody has to say again.
/// Throws DataError if there is none.
struct KnownFleet {
  TopicNames names;
  FleetRecords records;
};
KnownFleet find_fleet(kafka::Admin& admin, const std::string& name);

}  // namespace kalstream::fleet
