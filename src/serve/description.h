// What a stream of a service is, in its folder: stream.json.
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

/// Makes the folder if it is not there. Throws std::runtime_error naming it, as the next does.
void write_description(const std::string& folder, const std::string& name, std::int64_t created,
                       const StreamSettings& settings, System& system);
/// Nothing if there is none: the folder was never finished.
std::optional<Description> read_description(const std::string& folder, System& system);

}  // namespace kalstream::serve
