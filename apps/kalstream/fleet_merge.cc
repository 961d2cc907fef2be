// kalstream fleet merge: two topics become one, exactly once.
#include <memory>

#include "commands.h"
#include "fleet/instance.h"
#include "fleet/merge.h"
#include "fleet_options.h"
#include "stream/signals.h"

namespace kalstream::cli {
namespace {

struct MergeArguments {
  KafkaArguments kafka;
  fleet::MergeOptions merge;
};

void merge_topics(const MergeArguments& a) {
  fleet::MergeOptions options = a.merge;
  if (options.output == options.inputs[0] || options.output == options.inputs[1] ||
      options.inputs[0] == options.inputs[1])
    throw std::invalid_argument("--input, --labels and --output are three different topics");
  if (options.name.empty()) options.name = options.output;
  if (options.instance.empty()) options.instance = fleet::host_name();
  const kalstream::Signals signals;
  merge(
      configuration_of(a.kafka), options, [&] { return signals.stop(); }, say_to_people);
}

}  // namespace

void add_fleet_merge(CLI::App& fleet) {
  auto a = std::make_shared<MergeArguments>();
  CLI::App* cmd = fleet.add_subcommand(
      "merge", "Samples and labels of two topics onto one, each record once, by their times");
  add_kafka_options(*cmd, a->kafka);
  cmd->add_option("--input", a->merge.inputs[0], "Topic of the samples")->required();
  cmd->add_option("--labels", a->merge.inputs[1], "Topic of the labels, with the same keys")
      ->required();
  cmd->add_option("--output", a->merge.output, "Topic that gets both: the input of a fleet")
      ->required();
  cmd->add_option("--name", a->merge.name, "Of the group, NAME-merge (default: the output)");
  cmd->add_option("--instance", a->merge.instance,
                  "Of this process, if several merge the same topics (default: the host's name)");
  cmd->footer(
      "All three topics have the same number of partitions. SIGTERM and SIGINT end it in order;\n"
      "the next one goes on where this one was.\n");
  cmd->callback([a] { merge_topics(*a); });
}

}  // namespace kalstream::cli
