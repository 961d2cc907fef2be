// Whether networks see data as they are or scaled.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kalstream/options.h"

namespace kalstream::cli {

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
