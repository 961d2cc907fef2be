#include "fleet/model_transfer.h"

#include <fmt/format.h>

#include <numeric>

#include "core/archive.h"
#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "fleet/progress.h"
#include "kalstream/snapshot.h"
#include "schema/dataset.h"

namespace kalstream::fleet {
namespace {

std::int64_t offset_in(const kafka::Message& message, const char* header) {
  try {
    return offset_of(message.header(header).value_or(""));
  } catch (const DataError&) {
    throw DataError(fmt::format("{} [{}] at {}: a snapshot without a sound header {}",
                                message.topic(), message.partition(), message.offset(), header));
  }
}

std::optional<ExportedModel> find_in(const kafka::Admin& admin, const KnownFleet& fleet,
                                     const std::vector<std::int32_t>& partitions,
                                     const std::string& key) {
  std::optional<ExportedModel> found;
  kafka::read_topic(admin, fleet.names.state, partitions, [&](const kafka::Message& message) {
    if (message.key() != key) return;
    if (!message.value()) {
      if (found && found->partition == message.partition()) found.reset();
      return;
    }
    const auto bytes = as_bytes(*message.value());
    found = {.partition = message.partition(),
             .included = offset_in(message, included_header),
             .checkpoint = Bytes(bytes.begin(), bytes.end())};
  });
  return found;
}

std::int32_t partitions_of(kafka::Admin& admin, const std::string& topic) {
  const auto found = admin.describe(topic);
  if (!found) throw DataError(fmt::format("the topic {} does not exist", topic));
  return found->partitions;
}

// First where most clients put the key, which is soon read; then wherever else it may be.
std::optional<ExportedModel> find_model(kafka::Admin& admin, const KnownFleet& fleet,
                                        const std::string& key) {
  const std::int32_t partitions = partitions_of(admin, fleet.names.state);
  const std::int32_t likely = kafka::partition_of(key, partitions);
  auto found = find_in(admin, fleet, {likely}, key);
  if (found || partitions == 1) return found;
  std::vector<std::int32_t> others(static_cast<std::size_t>(partitions));
  std::iota(others.begin(), others.end(), 0);
  std::erase(others, likely);
  return find_in(admin, fleet, others, key);
}

std::int64_t inputs_since(kafka::Admin& admin, const KnownFleet& fleet, const ExportedModel& model,
                          const std::string& key) {
  const kafka::TopicPartition place{fleet.names.input, model.partition};
  const auto committed = admin.group_offsets(fleet.names.group, {place});
  if (committed.empty() || committed[0].offset <= model.included) return 0;
  const auto first = admin.offsets_at(
      {{place.topic, place.partition, kafka::TopicPartition::beginning}}, std::chrono::seconds(10));
  std::int64_t count = 0;
  kafka::read_range(admin,
                    {place.topic, place.partition, std::max(model.included, first[0].offset)},
                    committed[0].offset,
                    [&](const kafka::Message& message) { count += message.key() == key ? 1 : 0; });
  return count;
}

// A checkpoint says which fields its model has learnt from, in the part that is the stream's.
Bytes with_schema(const Bytes& state, const KnownFleet& fleet) {
  if (!fleet.records.schema) return state;
  Checkpoint checkpoint = checkpoint_of(state);
  EngineOptions options =
      engine_options(settings_of(*fleet.records.fleet, *fleet.records.schema), [](const auto&) {});
  options.schema = fleet.records.schema->schema;
  // Who has a single model need not say in every record which it is.
  options.fields.key.clear();
  for (Schema::Field& field : options.schema.fields)
    if (field.role == Role::key) {
      field.role = Role::left_out;
      field.reason = "names the model in the fleet";
    }
  Engine engine(std::move(options), nullptr);
  checkpoint.stream.clear();
  Archive to(checkpoint.stream);
  append_text(checkpoint.stream, [] {});  // the place in a file: there is none
  engine.exchange(to);
  return to_bytes(checkpoint);
}

}  // namespace

std::optional<ExportedModel> export_model(kafka::Admin& admin, const KnownFleet& fleet,
                                          const std::string& key) {
  auto found = find_model(admin, fleet, key);
  if (!found) return {};
  learnt_of(found->checkpoint);  // throws if it is damaged
  found->behind = inputs_since(admin, fleet, *found, key);
  found->checkpoint = with_schema(found->checkpoint, fleet);
  return found;
}

kafka::Delivery import_model(kafka::Admin& admin, const KnownFleet& fleet, const std::string& key,
                             const Bytes& model) {
  const Learnt learnt = learnt_of(model);
  if (fleet.records.schema) {
    const Schema& schema = fleet.records.schema->schema;
    // Where targets are classes, each model has as many as have come.
    if (learnt.learner->inputs() != schema.inputs() ||
        (!schema.has_classes() && learnt.learner->outputs() != schema.outputs()))
      throw SnapshotError(fmt::format("the model has {} inputs and {} outputs, the fleet {} and {}",
                                      learnt.learner->inputs(), learnt.learner->outputs(),
                                      schema.inputs(), schema.outputs()));
  }
  const auto found = find_model(admin, fleet, key);
  const std::int32_t partition =
      found ? found->partition : kafka::partition_of(key, partitions_of(admin, fleet.names.input));
  const std::vector<kafka::Header> headers{{import_header, "1"}};
  return kafka::write_one(
      admin,
      {.topic = fleet.names.input,
       .partition = partition,
       .key = key,
       .value = as_text(model),
       .headers = headers},
      fmt::format("the model cannot be written to {} [{}]", fleet.names.input, partition));
}

}  // namespace kalstream::fleet
