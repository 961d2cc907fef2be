// kalstream fleet init: creates the topics of a fleet, and writes down what it learns.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "commands.h"
#include "fleet_options.h"
#include "stream_options.h"

namespace kalstream::cli {
namespace {

struct InitArguments {
  KafkaArguments kafka;
  std::string input;
  std::string output;
  std::string name;
  std::int32_t partitions = 12;
  std::int32_t replication = -1;
  StreamSettings settings;
};

void init(const InitArguments& a) {
  using namespace fleet;
  const Say say = say_to_people;
  if (a.input == a.output)
    throw std::invalid_argument("--output: answers need another topic than inputs");
  engine_options(a.settings, say);  // what is not permitted is said before anything is created
  const TopicNames names(a.name.empty() ? a.output : a.name, a.input, a.output);
  kafka::Admin admin(configuration_of(a.kafka).set("group.id", names.group), say);
  admin.connect();

  const FleetRecord here = begin_record(a.input, a.output, a.settings);
  const auto require_same = [&](const FleetRecord& before) {
    if (const std::string text = difference(before, here); !text.empty())
      throw std::invalid_argument(fmt::format(
          "the fleet {} exists, with {}; begin another with --name", names.group, text));
  };
  FleetRecords records;
  if (admin.describe(names.fleet)) records = read_records(admin, names);
  if (records.fleet) require_same(*records.fleet);

  const auto created = create_topics(admin, names, a.partitions, a.replication);
  if (!created.empty()) say(fmt::format("created {}", fmt::join(created, ", ")));
  const std::int32_t partitions = check_topics(admin, names, usual_replay);
  const bool is_new = !records.fleet;
  if (is_new) records = append_record(admin, names, here);
  require_same(*records.fleet);
  say(fmt::format("the fleet {} {}: {} partitions, kernels {}, {}", names.group,
                  is_new ? "is ready" : "was there already", partitions, records.fleet->kernels,
                  kalstream::to_json(records.fleet->settings)));
}

}  // namespace

void add_fleet_init(CLI::App& fleet) {
  auto a = std::make_shared<InitArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "init", "Create the topics of a fleet, and write down what it learns; again: check them");
  add_kafka_options(*cmd, a->kafka);
  cmd->add_option("--input", a->input, "Topic of the inputs")->required();
  cmd->add_option("--output", a->output, "Topic of the answers")->required();
  cmd->add_option("--name", a->name,
                  "Of the fleet: its group, and the beginning of its topics' names (default: the "
                  "output)");
  cmd->add_option("--partitions", a->partitions,
                  "Of the input, if it has to be created: as many workers at most, for ever")
      ->check(whole_number(1, 1e5))
      ->capture_default_str();
  cmd->add_option("--replication", a->replication,
                  "Copies of every topic that is created (default: as the cluster has it)")
      ->check(whole_number(1, 100));
  add_stream_settings(*cmd, a->settings);
  cmd->get_option("--key")->required();
  cmd->callback([a] { init(*a); });
}

}  // namespace kalstream::cli
