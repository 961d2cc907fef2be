// kalstream fleet export: a model, out of a fleet.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "core/envelope.h"
#include "fleet/model_transfer.h"
#include "fleet_commands.h"
#include "fleet_options.h"
#include "io/atomic_file.h"
#include "schema/dataset.h"

namespace kalstream::cli {
namespace {

struct ExportArguments {
  KafkaArguments kafka;
  std::string name;
  std::string key;
  std::string out;
};

void export_one(const ExportArguments& a) {
  require_writable(a.out);
  const auto configuration = configuration_of(a.kafka).set("group.id", a.name);
  kafka::Admin admin(configuration, say_to_people);
  admin.connect();
  const fleet::KnownFleet known = fleet::find_fleet(configuration, admin, a.name, say_to_people);
  const auto model = export_model(configuration, admin, known, a.key, say_to_people);
  if (!model)
    throw DataError(fmt::format(
        "there is no snapshot of the key {} in {}: it is not known, or has not been seen long "
        "enough; a worker that stops in order writes all",
        a.key, known.names.state));
  write_file(a.out, as_text(model->checkpoint));
  say_to_people(fmt::format(
      "{}: the model of {} from partition {}, with its inputs before offset {}; {} of its inputs "
      "have been answered since",
      a.out, a.key, model->partition, model->included, model->behind));
}

}  // namespace

void add_fleet_export(CLI::App& fleet) {
  auto a = std::make_shared<ExportArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "export", "A key's model as its last snapshot has it: for Python, stream --start, import");
  cmd->add_option("KEY", a->key, "Whose model")->required();
  add_kafka_options(*cmd, a->kafka);
  cmd->add_option("--name", a->name, "Of the fleet: its output topic, unless init named it")
      ->required();
  cmd->add_option("--out", a->out, "File to write")->required();
  cmd->callback([a] { export_one(*a); });
}

}  // namespace kalstream::cli
