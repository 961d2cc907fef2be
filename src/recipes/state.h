// A learner's state on its way out of it, for those who have no time to lose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kalstream/learner.h"
#include "kalstream/schema.h"

namespace kalstream {

/// Appends what save() gives, from the place that is returned to the end; its checksum, which takes
/// longest, is still to be made there: seal() of core/envelope.h.
std::size_t append_unsealed(const Learner& learner, const Schema& schema,
                            std::vector<std::byte>& snapshot);

/// What load() gives, of a snapshot that lies within an envelope with a checksum of its own, or has
/// not left the process: that of the snapshot, which takes longest, is passed over.
std::unique_ptr<Learner> load_unsealed(std::span<const std::byte> snapshot,
                                       std::uint64_t most_memory);

/// `to`, made by the same recipe, then has the state of `from`: what can be saved of it, not what
/// is needed to learn on. Arrays go as they lie in memory, into memory that is there already.
void copy_state(const Learner& from, Learner& to);

}  // namespace kalstream
