#include "kafka/producer.h"

#include <fmt/format.h>

namespace kalstream::kafka {

namespace {

int as_ms(Milliseconds time) { return static_cast<int>(time.count()); }

}  // namespace

Producer::Producer(Configuration configuration, Delivered delivered, Say say)
    : Client(Kind::producer, configuration.set("enable.idempotence", "true"), std::move(say),
             [](rd_kafka_conf_t* conf) {
               rd_kafka_conf_set_dr_msg_cb(
                   conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* client) {
                     static_cast<Producer*>(static_cast<Client*>(client))->report(*message);
                   });
             }),
      delivered_(std::move(delivered)) {}

Producer::~Producer() {
  delivered_ = nullptr;  // what is still under way is nobody's business any more
  rd_kafka_purge(handle(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

void Producer::report(const rd_kafka_message_t& message) {
  if (!delivered_ || thrown_) return;
  try {  // not through librdkafka
    delivered_({.tag = reinterpret_cast<std::uintptr_t>(message._private),
                .partition = message.partition,
                .offset = message.offset,
                .error = message.err});
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void Producer::find(const std::vector<std::string>& topics, Milliseconds timeout) {
  std::vector<TopicHandle> known;
  for (const std::string& topic : topics)
    known.emplace_back(rd_kafka_topic_new(handle(), topic.c_str(), nullptr));
  const struct rd_kafka_metadata* metadata = nullptr;
  require(rd_kafka_metadata(handle(), /*all_topics=*/0, nullptr, &metadata, as_ms(timeout)),
          "the topics cannot be found");
  rd_kafka_metadata_destroy(metadata);
}

void Producer::init_transactions(Milliseconds timeout) {
  require(rd_kafka_init_transactions(handle(), as_ms(timeout)), "transactions cannot be begun");
}

void Producer::begin() {
  require(rd_kafka_begin_transaction(handle()), "a transaction cannot be begun");
}

void Producer::send_offsets(const std::vector<TopicPartition>& offsets, const GroupMetadata& group,
                            Milliseconds timeout) {
  require(rd_kafka_send_offsets_to_transaction(handle(), to_list(offsets).get(), group.get(),
                                               as_ms(timeout)),
          "offsets cannot be made part of the transaction");
}

void Producer::commit(Milliseconds timeout) {
  rd_kafka_error_t* const error = rd_kafka_commit_transaction(handle(), as_ms(timeout));
  rethrow();
  require(error, "the transaction cannot be committed");
}

void Producer::abort(Milliseconds timeout) {
  rd_kafka_error_t* const error = rd_kafka_abort_transaction(handle(), as_ms(timeout));
  rethrow();
  require(error, "the transaction cannot be aborted");
}

void Producer::produce(const Outgoing& message) {
  std::vector<rd_kafka_vu_t> parts;
  const auto add = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
    parts.push_back({});
    parts.back().vtype = type;
    return parts.back();
  };
  const auto bytes = [](rd_kafka_vu_t& part, std::optional<std::string_view> text) {
    // A text that is empty is not null.
    part.u.mem.ptr =
        text ? const_cast<char*>(text->data() != nullptr ? text->data() : "") : nullptr;
    part.u.mem.size = text ? text->size() : 0;
  };
  const std::string topic(message.topic);
  add(RD_KAFKA_VTYPE_TOPIC).u.cstr = topic.c_str();
  add(RD_KAFKA_VTYPE_PARTITION).u.i32 = message.partition;
  add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  bytes(add(RD_KAFKA_VTYPE_KEY), message.key);
  bytes(add(RD_KAFKA_VTYPE_VALUE), message.value);
  // A number that comes back: nobody follows it.
  add(RD_KAFKA_VTYPE_OPAQUE).u.ptr = reinterpret_cast<void*>(message.tag);  // NOLINT
  std::vector<std::string> names;  // with a zero at their end
  names.reserve(message.headers.size());
  for (const Header& header : message.headers) {
    names.emplace_back(header.name);
    rd_kafka_vu_t& part = add(RD_KAFKA_VTYPE_HEADER);
    part.u.header.name = names.back().c_str();
    part.u.header.val =
        header.value ? (header.value->data() != nullptr ? header.value->data() : "") : nullptr;
    part.u.header.size = header.value ? static_cast<ssize_t>(header.value->size()) : 0;
  }
  for (;;) {
    rd_kafka_error_t* const error = rd_kafka_produceva(handle(), parts.data(), parts.size());
    if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      require(error, fmt::format("a message for {} [{}] cannot be sent", topic, message.partition));
      return;
    }
    rd_kafka_error_destroy(error);
    rd_kafka_poll(handle(), 100);  // each ends at message.timeout.ms, so there will be room
    rethrow();
  }
}

bool Producer::flush(Milliseconds timeout) {
  const auto code = rd_kafka_flush(handle(), as_ms(timeout));
  rethrow();
  if (code == RD_KAFKA_RESP_ERR__TIMED_OUT) return false;
  require(code, "messages cannot be sent");
  return true;
}

Delivery write_one(const Client& client, const Outgoing& message, const std::string& doing) {
  Delivery delivery;
  Producer producer(
      client.configuration(), [&](const Delivery& d) { delivery = d; }, client.say());
  producer.produce(message);
  if (!producer.flush(std::chrono::seconds(30)) || delivery.error != 0)
    throw KafkaError(
        delivery.error, KafkaError::Kind::plain,
        fmt::format("{}: {}{}", doing, delivery.error == 0 ? "no answer" : name_of(delivery.error),
                    advice_for(delivery.error)));
  return delivery;
}

}  // namespace kalstream::kafka
