// Values of options as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "core/fields.h"

namespace kalstream {

/// Throws std::invalid_argument, "'TEXT' is not KIND", and leaves the value as it was. A schedule
/// A..B that does not say over how many samples spans `run_length`.
void set_from_text(const FieldValue& value, std::string_view text, std::size_t run_length);

std::string text_of(const FieldValue& value);

}  // namespace kalstream
