// kalstream fleet, where it was built without Kafka's client: says so.
#include <stdexcept>

#include "commands.h"

namespace kalstream::cli {

void add_fleet(CLI::App& app) {
  CLI::App* fleet = app.add_subcommand(
      "fleet", "Answer a topic of Apache Kafka (not in this build: librdkafka was not there)");
  fleet->allow_extras();
  fleet->callback([] {
    throw std::runtime_error(
        "this kalstream was built without Kafka: install librdkafka 2.0 or newer (Debian: "
        "librdkafka-dev), and build it again; cmake -DKALSTREAM_KAFKA=ON says if it is not found");
  });
}

}  // namespace kalstream::cli
