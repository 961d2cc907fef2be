// kalstream fleet import: a model, into a fleet.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "fleet/model_transfer.h"
#include "fleet_commands.h"
#include "fleet_options.h"
#include "io/snapshot_file.h"

namespace kalstream::cli {
namespace {

struct ImportArguments {
  KafkaArguments kafka;
  std::string name;
  std::string key;
  std::string file;
};

void import_one(const ImportArguments& a) {
  read_learnt(a.file);  // throws, naming the file, unless there is a model in it
  const Bytes model = read_bytes(a.file);
  const auto configuration = configuration_of(a.kafka).set("group.id", a.name);
  kafka::Admin admin(configuration, say_to_people);
  admin.connect();
  const fleet::KnownFleet known = fleet::find_fleet(configuration, admin, a.name, say_to_people);
  const fleet::ImportedAt at =
      import_model(configuration, admin, known, a.key, model, say_to_people);
  say_to_people(fmt::format(
      "the model for {} is in {} [{}] at offset {}: the answer to that says whether it was taken",
      a.key, known.names.input, at.partition, at.offset));
}

}  // namespace

void add_fleet_import(CLI::App& fleet) {
  auto a = std::make_shared<ImportArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "import", "A key goes on from this model: sent through the input, so that order is kept");
  cmd->add_option("KEY", a->key, "Whose model it becomes")->required();
  cmd->add_option("FILE", a->file, "What export, run --save or Python's save has written")
      ->required();
  add_kafka_options(*cmd, a->kafka);
  cmd->add_option("--name", a->name, "Of the fleet: its output topic, unless init named it")
      ->required();
  cmd->callback([a] { import_one(*a); });
}

}  // namespace kalstream::cli
