#include <stdexcept>

#include "fleet_commands.h"

namespace kalstream::cli {

void add_fleet_worker(CLI::App& fleet) { fleet.require_subcommand(1); }

}  // namespace kalstream::cli
