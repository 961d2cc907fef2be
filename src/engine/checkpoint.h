// A stream's state as bytes that can be trusted: what a checkpoint file holds (docs/snapshots.md).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/archive.h"
#include "engine/model.h"
#include "ports/ports.h"

namespace kalstream {

/// The stream, a model, or both.
struct Checkpoint {
  Bytes stream;     ///< empty: none
  std::string key;  ///< of the model
  Bytes model;      ///< empty: none
  std::uint64_t format = Archive::newest;
};

Bytes to_bytes(const Checkpoint& checkpoint);

/// Throws SnapshotError unless the bytes are a sound checkpoint.
Checkpoint checkpoint_of(std::span<const std::byte> bytes);
bool is_checkpoint(std::span<const std::byte> bytes);

/// What the stream in it had counted, and its fields. Throws SnapshotError.
struct StreamSummary {
  Counts counts;
  Schema schema;
};
StreamSummary summary_of(const Checkpoint& checkpoint);

/// To read the stream in it.
Archive stream_of(const Checkpoint& checkpoint);

/// The model in it, with these options, or as it was. Throws SnapshotError.
std::unique_ptr<StreamModel> model_of(const Checkpoint& checkpoint,
                                      const ModelOptions* options = nullptr);

}  // namespace kalstream
