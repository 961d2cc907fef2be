// kalstream fleet: the same stream by any number of workers, on Apache Kafka.
#include "commands.h"
#include "fleet_options.h"

namespace kalstream::cli {

void add_fleet(CLI::App& app) {
  CLI::App* fleet = app.add_subcommand(
      "fleet", "Answer a topic of Apache Kafka by any number of equal workers, exactly once");
  fleet->require_subcommand(0, 1);
  fleet->footer(
      "  kalstream fleet init --brokers HOST:9092 --input readings --output answers --key device\n"
      "  kalstream fleet --brokers HOST:9092 --input readings --output answers --key device\n"
      "  kalstream fleet status --brokers HOST:9092 --name answers\n"
      "  kalstream fleet export sensor-17 --brokers HOST:9092 --name answers --out "
      "sensor-17.kal\n\n"
      "Start as many workers as you like, anywhere: they share the partitions. docs/fleet.md\n");
  add_fleet_init(*fleet);
  add_fleet_status(*fleet);
  add_fleet_models(*fleet);
  add_fleet_merge(*fleet);
  add_fleet_worker(*fleet);
}

}  // namespace kalstream::cli
