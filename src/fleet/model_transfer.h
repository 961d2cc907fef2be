// Single models, out of a running fleet and into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/ports.h"
#include "fleet/topics.h"
#include "kafka/producer.h"

namespace kalstream::fleet {

/// A model as its last snapshot has it.
struct ExportedModel {
  std::int32_t partition = 0;
  std::int64_t included = 0;  ///< it has learnt from inputs before this offset
  std::int64_t behind = 0;    ///< inputs of its key that the fleet has answered since
  Bytes checkpoint;           ///< with the fleet's schema: for kalstream.load, --start, import
};

/// Reads the topic of states, where other keys are, too: that may take a while. Nothing if there is
/// no snapshot of the key. Throws DataError if it is damaged.
std::optional<ExportedModel> export_model(kafka::Admin& admin, const KnownFleet& fleet,
                                          const std::string& key);

/// Sends the model through the input, so that it takes its place between those samples that come
/// before it and those after. Into the partition where the key has a model, else the one that
/// Kafka's clients in Java would choose; where it is now. Throws SnapshotError unless it is a model
/// for this fleet.
kafka::Delivery import_model(kafka::Admin& admin, const KnownFleet& fleet, const std::string& key,
                             const Bytes& model);

}  // namespace kalstream::fleet
