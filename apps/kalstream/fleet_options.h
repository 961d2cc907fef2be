// The commands of a fleet, and what all of them take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fleet/topics.h"

namespace kalstream::cli {

// The commands of a fleet: each adds itself to `kalstream fleet`.
/// The worker itself: what `kalstream fleet` does where no other command is named.
void add_fleet_worker(CLI::App& fleet);
void add_fleet_models(CLI::App& fleet);  ///< export and import
void add_fleet_init(CLI::App& fleet);
void add_fleet_merge(CLI::App& fleet);
void add_fleet_status(CLI::App& fleet);

struct KafkaArguments {
  std::string brokers;
  std::vector<std::string> kafka;
  std::string kafka_file;
};

void add_kafka_options(CLI::App& command, KafkaArguments& arguments);
/// Throws std::invalid_argument.
kafka::Configuration configuration_of(const KafkaArguments& arguments);

/// A fleet that is there, by its name.
struct FleetArguments {
  KafkaArguments kafka;
  std::string name;
};

void add_fleet_options(CLI::App& command, FleetArguments& arguments);

/// The same, found.
struct OpenFleet {
  explicit OpenFleet(const FleetArguments& arguments);

  kafka::Admin admin;
  fleet::KnownFleet known;
};

}  // namespace kalstream::cli
