// kalstream fleet export and import: single models, out of a fleet and into it.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "core/envelope.h"
#include "fleet/model_transfer.h"
#include "fleet_options.h"
#include "io/atomic_file.h"
#include "schema/dataset.h"

namespace kalstream::cli {
namespace {

struct ModelArguments {
  FleetArguments fleet;
  std::string key;
  std::string file;
};

void export_one(const ModelArguments& a) {
  require_writable(a.file);
  OpenFleet fleet(a.fleet);
  const auto model = export_model(fleet.admin, fleet.known, a.key);
  if (!model)
    throw DataError(fmt::format(
        "there is no snapshot of the key {} in {}: it is not known, or has not been seen long "
        "enough; a worker that stops in order writes all",
        a.key, fleet.known.names.state));
  write_file(a.file, as_text(model->checkpoint));
  say_to_people(fmt::format(
      "{}: the model of {} from partition {}, with its inputs before offset {}; {} of its inputs "
      "have been answered since",
      a.file, a.key, model->partition, model->included, model->behind));
}

void import_one(const ModelArguments& a) {
  read_learnt(a.file);  // throws, naming the file, unless there is a model in it
  const Bytes model = read_bytes(a.file);
  OpenFleet fleet(a.fleet);
  const kafka::Delivery at = import_model(fleet.admin, fleet.known, a.key, model);
  say_to_people(fmt::format(
      "the model for {} is in {} [{}] at offset {}: the answer to that says whether it was taken",
      a.key, fleet.known.names.input, at.partition, at.offset));
}

}  // namespace

void add_fleet_models(CLI::App& fleet) {
  auto out = std::make_shared<ModelArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "export", "A key's model as its last snapshot has it: for Python, stream --start, import");
  cmd->add_option("KEY", out->key, "Whose model")->required();
  add_fleet_options(*cmd, out->fleet);
  cmd->add_option("--out", out->file, "File to write")->required();
  cmd->callback([out] { export_one(*out); });

  auto in = std::make_shared<ModelArguments>();
  cmd = fleet.add_subcommand(
      "import", "A key goes on from this model: sent through the input, so that order is kept");
  cmd->add_option("KEY", in->key, "Whose model it becomes")->required();
  cmd->add_option("FILE", in->file, "What export, run --save or Python's save has written")
      ->required();
  add_fleet_options(*cmd, in->fleet);
  cmd->callback([in] { import_one(*in); });
}

}  // namespace kalstream::cli
