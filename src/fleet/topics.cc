#include "fleet/topics.h"

#include <fmt/format.h>

#include "kafka/producer.h"
#include "schema/dataset.h"
#include "view/table.h"

namespace kalstream::fleet {
namespace {

constexpr std::int64_t largest_snapshot = 16 * 1024 * 1024;  // auto's have up to 7 MB

using TopicSettings = std::map<std::string, std::string>;

// Restoring reads all of it that is not compacted yet.
const TopicSettings state_settings = {{"cleanup.policy", "compact"},
                                      {"max.message.bytes", std::to_string(largest_snapshot)},
                                      {"min.cleanable.dirty.ratio", "0.1"},
                                      {"segment.bytes", "67108864"}};
const TopicSettings workers_settings = {{"cleanup.policy", "compact"},
                                        {"min.cleanable.dirty.ratio", "0.1"},
                                        {"segment.bytes", "1048576"}};
const TopicSettings kept_for_ever = {
    {"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"}};

/// Looks at the topics of a fleet, and says what is wrong with one in the same way for all.
class Inspector {
 public:
  Inspector(kafka::Admin& admin, const TopicNames& names) : admin_(admin), names_(names) {}

  kafka::Topic find(const std::string& name) {
    auto topic = admin_.describe(name);
    if (!topic)
      throw DataError(fmt::format(
          "the topic {} does not exist; 'kalstream fleet init' creates what a fleet needs", name));
    return std::move(*topic);
  }

  void require_partitions(const kafka::Topic& topic, std::int32_t wanted) {
    if (topic.partitions == wanted) return;
    const std::string mend =
        topic.name != names_.state && topic.name != names_.output
            ? "delete it, and let 'kalstream fleet init' create it again"
        : topic.partitions < wanted && topic.name == names_.output
            ? fmt::format(
                  "kafka-topics.sh --bootstrap-server {} --alter --topic {} --partitions {}",
                  admin_.configuration().brokers(), topic.name, wanted)
            : "the number of partitions is fixed for the life of a fleet: begin another, with "
              "--name and topics that have as many";
    throw DataError(fmt::format("the topic {} has {} partitions, and needs {}{}; {}", topic.name,
                                topic.partitions, wanted,
                                topic.name == names_.state || topic.name == names_.output
                                    ? fmt::format(", as the input {} has", names_.input)
                                    : "",
                                mend));
  }

  /// `wanted` is a word, or a number: as much at least, or no limit; "-1" is no limit.
  void require(const kafka::Topic& topic, const std::string& setting, const std::string& wanted,
               const std::string& why) {
    const auto at = topic.settings.find(setting);
    if (at == topic.settings.end() || at->second == wanted) return;
    const std::int64_t value = topic.number(setting);
    const bool is_number = wanted.find_first_not_of("-0123456789") == wanted.npos;
    if (is_number && (value < 0 || (wanted != "-1" && value >= std::stoll(wanted)))) return;
    throw DataError(fmt::format(
        "the topic {} has {}={}, and needs {}: {}; kafka-configs.sh --bootstrap-server {} --alter "
        "--entity-type topics --entity-name {} --add-config {}={}",
        topic.name, setting, at->second, wanted, why, admin_.configuration().brokers(), topic.name,
        setting, wanted));
  }

 private:
  kafka::Admin& admin_;
  const TopicNames& names_;
};

// After a crash inputs are read again: those since the snapshots, and what came meanwhile.
void check_retention(kafka::Admin& admin, Inspector& inspector, const kafka::Topic& input,
                     std::int64_t replay) {
  const std::string why = "inputs are replayed after a crash, and must outlive it";
  inspector.require(input, "cleanup.policy", "delete",
                    "a fleet replays its inputs, and needs all of them");
  inspector.require(input, "retention.ms", std::to_string(10 * 60 * 1000), why);
  inspector.require(input, "retention.bytes", std::to_string(1024 * 1024), why);
  const std::int64_t ms = input.number("retention.ms");
  const std::int64_t bytes = input.number("retention.bytes");
  if (ms < 0 && bytes < 0) return;

  std::vector<kafka::TopicPartition> first;
  std::vector<kafka::TopicPartition> last;
  for (std::int32_t p = 0; p < input.partitions; ++p) {
    first.push_back({input.name, p, kafka::TopicPartition::beginning});
    last.push_back({input.name, p, kafka::TopicPartition::end});
  }
  first = admin.offsets_at(std::move(first), std::chrono::seconds(10));
  last = admin.offsets_at(std::move(last), std::chrono::seconds(10));
  for (std::size_t p = 0; p < first.size(); ++p) {
    const std::int64_t held = last[p].offset - first[p].offset;
    if (first[p].offset == 0 || held >= replay) continue;  // nothing was deleted, or enough is left
    admin.say()(fmt::format(
        "warning: {} [{}] holds {} inputs, older ones are deleted, and a replay may need {} and "
        "those of an outage: raise its retention (retention.ms={}, retention.bytes={}), or lower "
        "--snapshot-every",
        input.name, p, held, replay, ms, bytes));
    return;
  }
  const std::string time = ms < 0 ? "ever" : view::format_seconds(static_cast<double>(ms) / 1000);
  admin.say()(fmt::format(
      "{} keeps inputs for {}{}; after a crash the last {} of a partition and those of the "
      "outage must be there",
      input.name, time, bytes < 0 ? "" : fmt::format(", {} bytes of a partition", bytes), replay));
}

}  // namespace

std::vector<std::string> create_topics(kafka::Admin& admin, const TopicNames& names,
                                       std::int32_t partitions, std::int32_t replication) {
  auto created =
      admin.create({{.name = names.input, .partitions = partitions, .replication = replication}});
  if (const auto input = admin.describe(names.input)) partitions = input->partitions;
  auto others = admin.create({{names.output, partitions, replication, {}},
                              {names.state, partitions, replication, state_settings},
                              {names.dead, partitions, replication, {}},
                              {names.fleet, 1, replication, kept_for_ever},
                              {names.workers, 1, replication, workers_settings}});
  created.insert(created.end(), others.begin(), others.end());
  return created;
}

std::int32_t check_topics(kafka::Admin& admin, const TopicNames& names, std::int64_t replay) {
  Inspector inspector(admin, names);
  const kafka::Topic input = inspector.find(names.input);
  const kafka::Topic output = inspector.find(names.output);
  const kafka::Topic state = inspector.find(names.state);
  const kafka::Topic dead = inspector.find(names.dead);
  const kafka::Topic fleet = inspector.find(names.fleet);
  const kafka::Topic workers = inspector.find(names.workers);
  inspector.require_partitions(output, input.partitions);
  inspector.require_partitions(state, input.partitions);
  inspector.require_partitions(fleet, 1);
  inspector.require_partitions(workers, 1);
  inspector.require(state, "cleanup.policy", "compact",
                    "it holds the last snapshot of every model");
  inspector.require(state, "max.message.bytes", std::to_string(largest_snapshot),
                    "snapshots are large");
  inspector.require(dead, "max.message.bytes",
                    std::to_string(std::max<std::int64_t>(0, input.number("max.message.bytes"))),
                    "dead letters are as large as inputs");
  for (const auto& [setting, value] : kept_for_ever)
    inspector.require(fleet, setting, value, "the first of its records counts");
  inspector.require(workers, "cleanup.policy", "compact", "it holds the last word of every worker");
  check_retention(admin, inspector, input, replay);
  if (state.replication == 1)
    admin.say()(
        "every topic partition has but one copy: if that broker's disk is lost, so are the models");
  return input.partitions;
}

FleetRecords read_records(const kafka::Admin& admin, const TopicNames& names) {
  std::vector<std::string> values;
  kafka::read_topic(admin, names.fleet, {0}, [&](const kafka::Message& message) {
    if (message.value()) values.emplace_back(*message.value());
  });
  return records_of(values);
}

FleetRecords append_value(const kafka::Admin& admin, const TopicNames& names, const char* key,
                          const std::string& value) {
  kafka::write_one(admin, {.topic = names.fleet, .partition = 0, .key = key, .value = value},
                   fmt::format("the fleet's record cannot be written to {}", names.fleet));
  return read_records(admin, names);
}

KnownFleet find_fleet(kafka::Admin& admin, const std::string& name) {
  admin.connect();
  KnownFleet found{.names = TopicNames(name, "", name), .records = {}};
  if (admin.describe(found.names.fleet)) found.records = read_records(admin, found.names);
  if (!found.records.fleet)
    throw DataError(fmt::format(
        "there is no fleet {} at {}; 'kalstream fleet init' begins one, --name names it", name,
        admin.configuration().brokers()));
  found.names.input = found.records.fleet->input;
  found.names.output = found.records.fleet->output;
  return found;
}

}  // namespace kalstream::fleet
