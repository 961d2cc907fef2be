// What a stream learns, from the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "stream/stream_settings.h"

namespace kalstream::cli {

/// All of stream_options().
void add_stream_settings(CLI::App& command, StreamSettings& settings);

}  // namespace kalstream::cli
