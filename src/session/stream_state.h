// A stream's part of a checkpoint: where its source stands, and what the engine knows.
#pragma once

#include <functional>

#include "engine/checkpoint.h"
#include "engine/engine.h"

namespace kalstream {

/// Writes or reads the place of a stream's source.
using ExchangePlace = std::function<void(Archive&)>;

/// When nothing is left to learn.
Bytes stream_state(const ExchangePlace& place, Engine& engine);

/// The engine as it was, with its only model where there are no keys. Throws SnapshotError or
/// SchemaError.
void restore(const Checkpoint& checkpoint, const ExchangePlace& place, Engine& engine);

}  // namespace kalstream
