// Snapshots in files.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/learnt.h"
#include "kalstream/snapshot.h"
#include "system/system.h"

namespace kalstream {

/// Whole or not at all; the snapshot that was there is kept as path + ".previous". Throws
/// std::runtime_error naming the path.
void write_snapshot(const std::filesystem::path& path, const Learner& learner,
                    const Schema& schema = {});

/// All bytes of a file that may be a snapshot. Throws SnapshotError if it cannot be read.
std::vector<std::byte> read_bytes(const std::filesystem::path& path,
                                  System& system = System::real());

/// What was learnt, from a snapshot or a checkpoint. Throws SnapshotError naming the path.
Learnt read_learnt(const std::filesystem::path& path);

}  // namespace kalstream
