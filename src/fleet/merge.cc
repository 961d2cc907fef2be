#include "fleet/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fleet/time_merge.h"
#include "kafka/consumer.h"
#include "kafka/producer.h"
#include "schema/dataset.h"

namespace kalstream::fleet {
namespace {

using MergeClock = std::chrono::steady_clock;

constexpr std::size_t most_waiting = 10'000;  // of a side of a partition
constexpr std::size_t most_in_a_transaction = 10'000;
constexpr auto patience = std::chrono::seconds(60);

/// From joining the group until something goes wrong that a new beginning mends.
class Session final : private kafka::RebalanceListener {
 public:
  /// Counts in `copied`.
  Session(const kafka::Configuration& configuration, const MergeOptions& options,
          std::uint64_t& copied, const Say& say)
      : options_(options),
        // Both topics' partitions of one number go to one member. The end of a partition is known
        // only after an empty answer, which is waited for.
        consumer_(configuration.with("group.id", options.name + "-merge")
                      .set("group.instance.id", options.instance)
                      .set("partition.assignment.strategy", "range")
                      .set("enable.partition.eof", "true")
                      .set("fetch.wait.max.ms", "50"),
                  say),
        producer_(configuration.with("transactional.id",
                                     fmt::format("{}-merge-{}", options.name, options.instance)),
                  {}, say),
        copied_(copied) {
    producer_.init_transactions(patience);
    consumer_.subscribe({options.inputs[0], options.inputs[1]}, *this);
  }

  /// Takes what comes for the time of a transaction, and writes it.
  void step() {
    // One by one: what was read before the group gave its partition to another must not stay.
    const auto until = MergeClock::now() + options_.transaction;
    auto now = MergeClock::now();
    for (std::size_t n = 0; now < until && n < most_in_a_transaction; now = MergeClock::now())
      if (auto message = consumer_.poll(std::chrono::ceil<kafka::Milliseconds>(until - now))) {
        take(std::move(*message));
        ++n;
      }
    write();
    resume();
  }

  void leave() { consumer_.close(std::chrono::seconds(10)); }

 private:
  using Place = std::pair<std::size_t, std::int32_t>;  // side, partition

  void take(kafka::Message message) {
    const std::size_t side = message.topic() == options_.inputs[0] ? 0 : 1;
    const std::int32_t partition = message.partition();
    auto& merge = partitions_[partition];
    if (message.is_end()) return merge.at_end(side);
    const std::int64_t time = message.timestamp_ms();
    merge.add(side, time, std::move(message));
    if (merge.waiting(side) == most_waiting) {
      consumer_.pause({{options_.inputs[side], partition}});
      paused_.push_back({side, partition});
    }
  }

  void write() {
    std::map<Place, std::int64_t> next;
    bool begun = false;
    for (auto& [partition, merge] : partitions_)
      while (const auto item = merge.next()) {
        if (!std::exchange(begun, true)) producer_.begin();
        copy(item->second);
        next[{item->first, partition}] = item->second.offset() + 1;
        ++uncommitted_;
      }
    if (!begun) return;
    std::vector<kafka::TopicPartition> offsets;
    for (const auto& [place, offset] : next)
      offsets.push_back({options_.inputs[place.first], place.second, offset});
    producer_.send_offsets(offsets, consumer_.group_metadata(), patience);
    producer_.commit(patience);
    copied_ += std::exchange(uncommitted_, 0);
  }

  void copy(const kafka::Message& message) {
    auto headers = message.headers();
    const std::string topic = message.topic();
    headers.push_back({source_header, topic});
    producer_.produce({.topic = options_.output,
                       .partition = message.partition(),
                       .key = message.key(),
                       .value = message.value(),
                       .headers = headers});
  }

  void resume() {
    std::erase_if(paused_, [&](const Place& place) {
      const auto at = partitions_.find(place.second);
      if (at == partitions_.end()) return true;
      if (at->second.waiting(place.first) > most_waiting / 2) return false;
      consumer_.resume({{options_.inputs[place.first], place.second}});
      return true;
    });
  }

  void forget() {
    partitions_.clear();
    paused_.clear();
  }

  void assigned(const std::vector<kafka::TopicPartition>& partitions) override {
    forget();
    auto from = consumer_.committed(partitions, patience);
    for (kafka::TopicPartition& p : from)
      if (p.offset < 0) p.offset = kafka::TopicPartition::beginning;
    consumer_.assign(from);
  }
  // No transaction is open while messages are awaited: what waits is simply read again.
  void revoked(const std::vector<kafka::TopicPartition>&) override { forget(); }
  void lost(const std::vector<kafka::TopicPartition>&) override { forget(); }

  const MergeOptions& options_;
  kafka::Consumer consumer_;
  kafka::Producer producer_;
  std::map<std::int32_t, TimeMerge<kafka::Message>> partitions_;
  std::vector<Place> paused_;
  std::uint64_t uncommitted_ = 0;
  std::uint64_t& copied_;
};

void check_merge(kafka::Admin& admin, const MergeOptions& options) {
  std::int32_t wanted = -1;
  std::int64_t largest = 0;  // message that may come
  for (const std::string& name : {options.inputs[0], options.inputs[1], options.output}) {
    const auto topic = admin.describe(name);
    if (!topic)
      throw DataError(fmt::format(
          "the topic {} does not exist; create it with as many partitions as the others: "
          "kafka-topics.sh --bootstrap-server {} --create --topic {} --partitions {}",
          name, admin.configuration().brokers(), name, wanted > 0 ? std::to_string(wanted) : "N"));
    if (wanted < 0) wanted = topic->partitions;
    if (topic->partitions != wanted)
      throw DataError(fmt::format(
          "the topic {} has {} partitions, and {} has {}: records of a key would not meet; all "
          "three topics need as many",
          name, topic->partitions, options.inputs[0], wanted));
    const std::int64_t bytes = topic->number("max.message.bytes");
    if (name == options.output && bytes < largest)
      throw DataError(fmt::format(
          "the topic {0} has max.message.bytes={1}, and needs {2}: what is in the others has to "
          "fit; "
          "kafka-configs.sh --bootstrap-server {3} --alter --entity-type topics --entity-name {0} "
          "--add-config max.message.bytes={2}",
          name, bytes, largest, admin.configuration().brokers()));
    largest = std::max(largest, bytes);
  }
}

}  // namespace

void merge(const kafka::Configuration& configuration, const MergeOptions& options,
           const std::function<bool()>& stop, const Say& say) {
  kafka::Admin admin(configuration, say);
  admin.connect();
  check_merge(admin, options);
  std::uint64_t copied = 0;
  while (!stop()) try {
      Session session(configuration, options, copied, say);
      while (!stop()) session.step();
      session.leave();
    } catch (const kafka::KafkaError& error) {
      if (error.fatal() || !(error.abortable() || error.retriable())) throw;
      // What was not committed is read again by the next one, which ends this transaction.
      say(fmt::format("{}; beginning again from the last commit", error.what()));
    }
  say(fmt::format("{} records merged into {}", copied, options.output));
}

}  // namespace kalstream::fleet
