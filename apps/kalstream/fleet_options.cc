#include "fleet_options.h"

#include "commands.h"

namespace kalstream::cli {

void add_kafka_options(CLI::App& cmd, KafkaArguments& a) {
  cmd.add_option("--brokers", a.brokers, "Where Kafka is: HOST:PORT, several with commas");
  cmd.add_option("--kafka", a.kafka,
                 "A setting of Kafka's client (librdkafka): name=value, or name=@FILE; TLS, SASL, "
                 "sizes, timeouts")
      ->allow_extra_args(false);
  cmd.add_option("--kafka-file", a.kafka_file,
                 "A file of such settings, one in a line: the place for passwords");
}

kafka::Configuration configuration_of(const KafkaArguments& a) {
  if (a.brokers.empty()) throw std::invalid_argument("--brokers: where is Kafka? HOST:PORT");
  kafka::Configuration configuration(a.brokers);
  if (!a.kafka_file.empty()) configuration.take_file(a.kafka_file);
  for (const std::string& assignment : a.kafka) configuration.take_option(assignment);
  return configuration;
}

void add_fleet_options(CLI::App& cmd, FleetArguments& a) {
  add_kafka_options(cmd, a.kafka);
  cmd.add_option("--name", a.name, "Of the fleet: its output topic, unless init named it")
      ->required();
}

OpenFleet::OpenFleet(const FleetArguments& a)
    : admin(configuration_of(a.kafka).set("group.id", a.name), say_to_people),
      known(fleet::find_fleet(admin, a.name)) {}

}  // namespace kalstream::cli
