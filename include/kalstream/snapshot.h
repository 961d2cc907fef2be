// All a learner has learnt as bytes, to go on from later or elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "kalstream/learner.h"
#include "kalstream/schema.h"

namespace kalstream {

/// Bytes that are no snapshot, a damaged one, one of a newer version, one that contradicts itself,
/// or one of a learner too large.
class SnapshotError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a snapshot says of its learner.
struct SnapshotInfo {
  Recipe recipe;
  std::uint64_t samples = 0;  ///< learnt or advanced to so far
  Schema schema;              ///< of the stream it has learnt from; empty if that is not known
};

/// The learner at this moment, in the format of docs/snapshots.md. Throws std::invalid_argument if
/// it was not made by make_learner, make_scaled_learner or load. `schema` says which fields it has
/// learnt from, so that they can be found by name later.
std::vector<std::byte> save(const Learner& learner, const Schema& schema = {});

/// A learner that goes on where the saved one stood: to the last bit on the same vector unit,
/// within rounding on another. (A forecast that had begun has to be started again.) Safe for bytes
/// from anywhere: throws SnapshotError for all but a sound snapshot, also if the learner would need
/// more than about `most_memory` bytes.
std::unique_ptr<Learner> load(std::span<const std::byte> snapshot,
                              std::uint64_t most_memory = std::uint64_t{8} << 30);

/// What load would make of it, at little cost. Throws as load does, but looks at the learner's
/// state no further than at its checksum.
SnapshotInfo describe(std::span<const std::byte> snapshot);

}  // namespace kalstream
