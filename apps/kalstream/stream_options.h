// What a stream learns, from the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "settings/stream_settings.h"

namespace kalstream::cli {

/// All of stream_options().
void add_stream_settings(CLI::App& command, StreamSettings& settings);
/// Those of stream_options() with these names.
void add_settings(CLI::App& command, StreamSettings& settings,
                  std::initializer_list<std::string_view> names);
/// Those that say what each field of the stream is.
void add_field_settings(CLI::App& command, StreamSettings& settings);
/// --columns, for text whose header does not come along.
void add_column_names(CLI::App& command, std::vector<std::string>& names);

}  // namespace kalstream::cli
