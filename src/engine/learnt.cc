#include "engine/learnt.h"

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"

namespace kalstream {

Learnt learnt_of(std::span<const std::byte> bytes) {
  if (!is_checkpoint(bytes)) return {load(bytes), describe(bytes).schema};
  const Checkpoint checkpoint = checkpoint_of(bytes);
  if (checkpoint.model.empty()) throw SnapshotError("there is no learner in this checkpoint");
  Learnt learnt{model_of(checkpoint)->learner().clone(), {}};
  if (!checkpoint.stream.empty()) learnt.schema = summary_of(checkpoint).schema;
  return learnt;
}

}  // namespace kalstream
