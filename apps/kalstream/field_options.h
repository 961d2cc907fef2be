// The options by which people say which field is what; the same for every command.
#pragma once

#include <CLI/CLI.hpp>

#include "kalstream/schema.h"

namespace kalstream::cli {

/// --target, --inputs, --category, --time.
void add_field_options(CLI::App& command, FieldChoice& choice);

/// --columns: for delimited text without a header.
void add_column_names(CLI::App& command, std::vector<std::string>& names);

}  // namespace kalstream::cli
