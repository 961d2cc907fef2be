// A stream in a checkpoint: where its source stands, and what its engine knows.
#pragma once

#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "engine/ports.h"

namespace kalstream {

/// Both at this moment, as they are in a checkpoint beside the models.
Bytes stream_state(Source& source, Engine& engine);

/// Puts source and engine where they stood. Throws SnapshotError or SchemaError if the checkpoint
/// is damaged, or that of another stream or learner.
void restore(const Checkpoint& checkpoint, Source& source, Engine& engine);

}  // namespace kalstream
