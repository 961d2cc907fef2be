// The folder of a stream: what it is (stream.json), and what is to become of it, which outlives the
// process that was told. All throw std::runtime_error naming the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

/// Makes the folder if it is not there.
void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system);
/// Nothing if there is none: the folder was never finished.
std::optional<Description> read_description(const std::string& folder, System& system);

enum class Mark : std::uint8_t {
  reset,    ///< all but the options is to be removed
  removed,  ///< all of it
};

void mark(const std::string& folder, Mark mark, System& system);
bool is_marked(const std::string& folder, Mark mark, System& system);

void make_folder(const std::string& path, System& system);
/// All but the description, then the mark.
void remove_state(const std::string& folder, System& system);
/// With all that is in it, its marks last.
void remove_folder(const std::string& folder, System& system);

}  // namespace kalstream::serve
