// The commands of a fleet: each adds itself to `kalstream fleet`.
#pragma once

#include <CLI/CLI.hpp>

namespace kalstream::cli {

/// The worker itself: what `kalstream fleet` does where no other command is named.
void add_fleet_worker(CLI::App& fleet);

void add_fleet_export(CLI::App& fleet);
void add_fleet_import(CLI::App& fleet);
void add_fleet_init(CLI::App& fleet);
void add_fleet_merge(CLI::App& fleet);
void add_fleet_status(CLI::App& fleet);

}  // namespace kalstream::cli
