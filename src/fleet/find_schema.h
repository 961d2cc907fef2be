// The schema of a fleet that has none yet: from the first inputs that tell it.
#pragma once

#include <functional>
#include <optional>

#include "fleet/log.h"
#include "kalstream/schema.h"

namespace kalstream::fleet {

/// Waits for an input, of any partition, that says what the stream is made of; labels do not.
/// Values of categories are those among the first inputs, and no others will get a place of their
/// own: all partitions have to agree on them. Nothing if `stop` says so before.
std::optional<Schema> find_schema(Log& log, const FieldChoice& choice,
                                  const std::function<bool()>& stop,
                                  const std::function<void(const std::string&)>& say);

}  // namespace kalstream::fleet
