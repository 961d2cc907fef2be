// What all workers of a fleet have in common, as the first records of its topic say: what they
// learn and by which kernels, then the schema of their stream. Texts in, texts out: no broker here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kalstream/schema.h"
#include "settings/stream_settings.h"

namespace kalstream::fleet {

using Say = std::function<void(const std::string&)>;

/// Written by `fleet init`. Answers depend on it and the inputs alone.
struct FleetRecord {
  static constexpr const char* message_key = "fleet";

  std::string input;   ///< topics
  std::string output;  ///<
  StreamSettings settings;
  std::string kernels;  ///< kernels::target_name(): others round differently
  std::string version;  ///< of the kalstream that began the fleet
};

/// Written by the worker that sees the first record which tells the fields. Not by init: fields are
/// found in data, and what --budget-us allows follows from their number.
struct SchemaRecord {
  static constexpr const char* message_key = "schema";

  Schema schema;
  std::uint64_t experts = 0;  ///< that the budget allowed, there and then; 0: there is no budget
};

std::string to_json(const FleetRecord& record);
std::string to_json(const SchemaRecord& record);

/// The first of each kind counts: later ones were written by who did not know of it yet.
struct FleetRecords {
  std::optional<FleetRecord> fleet;
  std::optional<SchemaRecord> schema;
};
/// Of the values of the fleet's topic, in their order. Throws DataError if one cannot be read.
FleetRecords records_of(std::span<const std::string> values);

/// The record of a fleet that is begun here and now.
FleetRecord begin_record(std::string input, std::string output, StreamSettings settings);

/// What differs, "--learner alg1 (here rls), …", where two fleets would not be the same; else "".
std::string difference(const FleetRecord& fleet, const FleetRecord& here);

/// A worker may leave options out. Throws std::invalid_argument if it gives one that the fleet has
/// otherwise.
void require_no_contradiction(const FleetRecord& fleet, const StreamSettings& given);

/// Makes the fleet's kernels work here. Throws std::invalid_argument if this processor has none.
void use_kernels(const FleetRecord& fleet);

/// The schema to be proposed to the fleet; measures what the budget allows, if there is one.
SchemaRecord propose(const FleetRecord& fleet, Schema schema, const Say& say);

/// What every worker learns by.
StreamSettings settings_of(const FleetRecord& fleet, const SchemaRecord& schema);

}  // namespace kalstream::fleet
