// What all commands of a fleet take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kafka/configuration.h"

namespace kalstream::cli {

struct KafkaArguments {
  std::string brokers;
  std::vector<std::string> kafka;
  std::string kafka_file;
};

void add_kafka_options(CLI::App& command, KafkaArguments& arguments);
/// Throws std::invalid_argument.
kafka::Configuration configuration_of(const KafkaArguments& arguments);

/// To standard error, with the program's name before it.
void say_to_people(const std::string& text);

}  // namespace kalstream::cli
