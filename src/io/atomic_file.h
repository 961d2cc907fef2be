#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "system/system.h"

namespace kalstream {

/// Writes the whole text to `path` or leaves what was there: first to a neighbouring temporary
/// file, then renamed. A link is followed; a device or pipe is written to directly. Throws
/// std::runtime_error naming the path.
void write_file(const std::filesystem::path& path, std::string_view text,
                System& system = System::real());

/// The same, and what was there is kept under the name with ".previous" added.
void write_file_and_keep(const std::filesystem::path& path, std::string_view text,
                         System& system = System::real());

/// The same as write_file without waiting for the disk: for what is written again soon.
void replace_file(const std::filesystem::path& path, std::string_view text,
                  System& system = System::real());

/// Removes what processes that were killed while they wrote this file have left. Only for whoever
/// knows that nobody is writing it.
void remove_leftovers(const std::filesystem::path& path, System& system = System::real());

/// Gives a damaged file a second name, which outlives what becomes of the first: `path` with
/// ".damaged" added, or ".damaged-2" and so on where that is another file. Returns the name. Throws
/// std::runtime_error naming the path.
std::string keep_damaged(const std::filesystem::path& path, System& system = System::real());

/// Throws what write_file would if it cannot write there; for use before long work.
void require_writable(const std::filesystem::path& path, System& system = System::real());

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
