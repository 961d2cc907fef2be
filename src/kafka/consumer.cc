#include "kafka/consumer.h"

#include <fmt/format.h>

namespace kalstream::kafka {

namespace {

Configuration reads_committed(Configuration configuration) {
  // librdkafka wants a name even from who joins nothing.
  return configuration.set_default("group.id", "kalstream")
      .set("isolation.level", "read_committed")
      .set("enable.auto.commit", "false")
      .set("enable.auto.offset.store", "false")
      .set("auto.offset.reset", "error");
}

}  // namespace

Consumer::Consumer(Configuration configuration, Say say)
    : Client(Kind::consumer, reads_committed(std::move(configuration)), std::move(say),
             [](rd_kafka_conf_t* conf) {
               rd_kafka_conf_set_rebalance_cb(
                   conf, [](rd_kafka_t*, rd_kafka_resp_err_t code,
                            rd_kafka_topic_partition_list_t* list, void* client) {
                     static_cast<Consumer*>(static_cast<Client*>(client))->rebalance(code, list);
                   });
             }) {
  require(rd_kafka_poll_set_consumer(handle()), "Kafka's consumer cannot be started");
}

void Consumer::subscribe(const std::vector<std::string>& topics, RebalanceListener& listener) {
  listener_ = &listener;
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(topics.size())));
  for (const std::string& topic : topics)
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  require(rd_kafka_subscribe(handle(), list.get()), "the group cannot be joined");
}

void Consumer::rebalance(int code, rd_kafka_topic_partition_list_t* list) {
  const bool comes = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
  const auto partitions = from_list(*list);
  // No exception may go through librdkafka. And whatever happens, it has to be told that it was
  // heard, or the group waits.
  try {
    if (comes && !closing_) return listener_->assigned(partitions);
    if (!comes && listener_ != nullptr)
      assignment_lost() ? listener_->lost(partitions) : listener_->revoked(partitions);
  } catch (...) {
    thrown_ = std::current_exception();
  }
  if (is_cooperative())
    rd_kafka_error_destroy(comes ? rd_kafka_incremental_assign(handle(), list)
                                 : rd_kafka_incremental_unassign(handle(), list));
  else
    rd_kafka_assign(handle(), nullptr);
}

bool Consumer::assignment_lost() const { return rd_kafka_assignment_lost(handle()) != 0; }

bool Consumer::is_cooperative() const {
  const char* const protocol = rd_kafka_rebalance_protocol(handle());
  return protocol != nullptr && std::string_view(protocol) == "COOPERATIVE";
}

void Consumer::assign(const std::vector<TopicPartition>& partitions) {
  const PartitionList list = to_list(partitions);
  constexpr const char* doing = "partitions cannot be assigned";
  if (is_cooperative())
    require(rd_kafka_incremental_assign(handle(), list.get()), doing);
  else
    require(rd_kafka_assign(handle(), list.get()), doing);
}

void Consumer::pause(const std::vector<TopicPartition>& partitions) {
  require(rd_kafka_pause_partitions(handle(), to_list(partitions).get()),
          "partitions cannot be paused");
}

void Consumer::resume(const std::vector<TopicPartition>& partitions) {
  require(rd_kafka_resume_partitions(handle(), to_list(partitions).get()),
          "partitions cannot be resumed");
}

std::optional<Message> Consumer::poll(Milliseconds most) {
  rd_kafka_message_t* const raw = rd_kafka_consumer_poll(handle(), static_cast<int>(most.count()));
  Message message(raw);
  rethrow();
  if (raw == nullptr) return {};
  if (raw->err == RD_KAFKA_RESP_ERR_NO_ERROR || message.is_end()) return message;
  require_sound();
  const char* const details = rd_kafka_message_errstr(raw);
  if (may_pass(raw->err) || raw->err == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED) {  // then lost()
    note_complaint(raw->err, details);
    return {};
  }
  fail(raw->err, KafkaError::Kind::plain,
       raw->rkt == nullptr
           ? std::string("reading fails")
           : fmt::format("reading {} [{}] at {} fails", rd_kafka_topic_name(raw->rkt),
                         raw->partition, raw->offset),
       details);
}

std::vector<TopicPartition> Consumer::committed(const std::vector<TopicPartition>& partitions,
                                                Milliseconds timeout) const {
  const PartitionList list = to_list(partitions);
  require(rd_kafka_committed(handle(), list.get(), static_cast<int>(timeout.count())),
          "the group's offsets cannot be read");
  return require(list, "the group's offset of {} [{}] cannot be read");
}

GroupMetadata Consumer::group_metadata() const {
  return GroupMetadata(rd_kafka_consumer_group_metadata(handle()));
}

void Consumer::close(Milliseconds timeout) {
  if (std::exchange(closing_, true)) return;
  using Steady = std::chrono::steady_clock;
  const auto deadline = Steady::now() + timeout;
  // In steps, since the call that does it all at once may wait for ever.
  const Queue queue(rd_kafka_queue_new(handle()));
  require(rd_kafka_consumer_close_queue(handle(), queue.get()), "the group cannot be left");
  for (auto now = Steady::now(); rd_kafka_consumer_closed(handle()) == 0 && now < deadline;
       now = Steady::now()) {
    const auto wait = std::min(Milliseconds(100), std::chrono::ceil<Milliseconds>(deadline - now));
    if (auto* const rest = rd_kafka_consume_queue(queue.get(), static_cast<int>(wait.count())))
      rd_kafka_message_destroy(rest);
  }
  rethrow();
}

// ---- What a topic holds, and no more.

namespace {

/// Until `take` returns false for the last partition that is left; it is also given ends.
void read_until(const Client& client, const std::vector<TopicPartition>& partitions,
                const std::function<bool(const Message&)>& take) {
  constexpr auto patience = std::chrono::seconds(15);
  // The end of a partition is known only after an empty answer, which a broker is slow to give.
  Consumer consumer(
      client.configuration().with("enable.partition.eof", "true").set("fetch.wait.max.ms", "20"),
      client.say());
  consumer.assign(partitions);
  auto last = std::chrono::steady_clock::now();
  std::vector<bool> done(partitions.size());
  for (std::size_t left = partitions.size(); left > 0;) {
    const auto message = consumer.poll(Milliseconds(100));
    const auto now = std::chrono::steady_clock::now();
    if (!message) {
      if (now - last <= patience) continue;
      const auto [code, text] = consumer.last_complaint();
      throw KafkaError(
          code, KafkaError::Kind::retriable,
          fmt::format("reading the topic {} does not get on{}{}{}", partitions.front().topic,
                      text.empty() ? "" : ": ", text, advice_for(code)));
    }
    last = now;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      if (done[i] || partitions[i].partition != message->partition() || take(*message)) continue;
      consumer.pause({partitions[i]});
      done[i] = true;
      --left;
    }
  }
}

}  // namespace

void read_topic(const Client& client, const std::string& topic,
                const std::vector<std::int32_t>& partitions, const TakeMessage& take) {
  std::vector<TopicPartition> from;
  for (const std::int32_t p : partitions) from.push_back({topic, p, TopicPartition::beginning});
  read_until(client, from, [&](const Message& message) {
    if (!message.is_end()) take(message);
    return !message.is_end();
  });
}

void read_range(const Client& client, const TopicPartition& from, std::int64_t end,
                const TakeMessage& take) {
  read_until(client, {from}, [&](const Message& message) {
    if (message.is_end() || message.offset() >= end) return false;
    take(message);
    return message.offset() + 1 < end;
  });
}

}  // namespace kalstream::kafka
