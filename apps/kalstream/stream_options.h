// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kalstream/options.h"
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

/// Whether networks see data as they are or scaled.
struct ScalingArguments {
  bool scale = false;
  bool unscaled = false;
};
/// --scale and --unscaled.
void add_scaling(CLI::App& command, ScalingArguments& arguments);
/// Scaled unless told otherwise, as in a live stream. A preset's settings are for data that have
/// been prepared, so with one data stay as they are unless told otherwise. A rule that takes raw
/// data sees to it by itself.
bool is_scaled(const ScalingArguments& arguments, const std::string& preset, const Rule& rule);

}  // namespace kalstream::cli
