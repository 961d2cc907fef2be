// What was learnt, from any file that keeps it.
#pragma once

#include <memory>
#include <span>

#include "kalstream/learner.h"
#include "kalstream/schema.h"

namespace kalstream {

struct Learnt {
  std::unique_ptr<Learner> learner;
  Schema schema;  ///< of the stream it has learnt from; empty if that is not known
};

/// Of a snapshot, or a checkpoint with a model. Throws SnapshotError.
Learnt learnt_of(std::span<const std::byte> bytes);

}  // namespace kalstream
