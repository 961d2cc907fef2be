// kalstream fleet status: how a fleet is doing.
#include "fleet/fleet_status.h"

#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "fleet_options.h"
#include "stream/signals.h"
#include "system/system.h"
#include "view/progress.h"

namespace kalstream::cli {
namespace {

struct StatusArguments {
  FleetArguments fleet;
  bool json = false;
  double watch = 0;
};

void show(const StatusArguments& a, const fleet::FleetStatus& status) {
  if (a.json) {
    fmt::print("{}", to_json(status));
    return;
  }
  const bool screen = view::is_terminal(stdout);
  if (a.watch > 0 && screen) fmt::print("\x1b[H\x1b[2J");
  fmt::print("{}{}", to_text(status, screen && std::getenv("NO_COLOR") == nullptr),
             a.watch > 0 && !screen ? "\n" : "");
}

void status(const StatusArguments& a) {
  OpenFleet fleet(a.fleet);
  if (!(a.watch > 0)) return show(a, look_at(fleet.admin, fleet.known));
  const kalstream::Signals signals;
  while (!signals.stop()) {
    show(a, look_at(fleet.admin, fleet.known));
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
    pollfd woken{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    System::real().poll(std::span(&woken, 1), static_cast<int>(1000 * a.watch));
  }
}

}  // namespace

void add_fleet_status(CLI::App& fleet) {
  auto a = std::make_shared<StatusArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "status", "The group, what each worker has and does, how far each partition is behind");
  add_fleet_options(*cmd, a->fleet);
  cmd->add_flag("--json", a->json, "For programs");
  cmd->add_option("--watch", a->watch, "Look again every so many seconds, until interrupted")
      ->check(CLI::Range(0.1, 3600.0));
  cmd->callback([a] { status(*a); });
}

}  // namespace kalstream::cli
