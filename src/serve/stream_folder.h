// The folder of a stream: what it is (stream.json), and what is to become of it, which outlives the
// process that was told. All throw std::runtime_error naming the path. Nothing is removed but what
// this program makes, and no link is followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "settings/stream_settings.h"
#include "system/system.h"

namespace kalstream::serve {

struct Description {
  std::string name;
  std::int64_t created = 0;
  StreamSettings settings;
};

/// 1 to 100 of A–Z, a–z, 0–9, '.', '_' and '-', not beginning with '.'.
bool is_name(std::string_view name);
/// A name as part of a path, whatever is in it: "a.b" is "612e62".
std::string in_hex(std::string_view name);
/// The name of the stream whose folder is called so; nothing if no stream's is.
std::optional<std::string> name_of(std::string_view folder);

void make_folder(const std::string& path, System& system);
/// Whether nothing is called so any more; an empty folder is removed.
bool is_free(const std::string& path, System& system);
/// What happened in the folder survives the loss of power.
void sync_folder(const std::string& path, System& system);

void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system);
/// Throws as well if it is damaged, or not that of the stream the folder is named for.
Description read_description(const std::string& folder, System& system);
/// Whether the process ended while it made the folder: there is no more in it than the beginning of
/// a description.
bool is_unfinished(const std::string& folder, System& system);

/// All but the options is to be removed, by remove_state().
void mark_for_reset(const std::string& folder, System& system);
bool is_marked_for_reset(const std::string& folder, System& system);

/// What a folder is called once its stream is deleted, until it is removed.
std::string name_for_removal(const std::string& folder);
bool is_for_removal(std::string_view folder);

/// Removes what belongs to a stream but its description, and the mark last. Returns the paths that
/// are left because the program did not make them, as the next does.
std::vector<std::string> remove_state(const std::string& folder, System& system);
/// The same with the description, and with the folder if nothing is left in it.
std::vector<std::string> remove_folder(const std::string& folder, System& system);

}  // namespace kalstream::serve
