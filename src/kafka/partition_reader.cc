#include "kafka/partition_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace kalstream::kafka {
namespace {

// What is fetched ahead is little: a partition with a backlog must not keep others waiting.
Configuration of_partitions(Configuration configuration, bool tells_ends) {
  return configuration.set_default("queued.min.messages", "2000")
      .set_default("queued.max.messages.kbytes", "16384")
      .set_default("fetch.wait.max.ms", "100")
      .set_default("fetch.error.backoff.ms", "100")
      .set("isolation.level", "read_committed")
      .set("enable.auto.commit", "false")
      .set("auto.offset.reset", "error")
      .set("enable.partition.eof", tells_ends ? "true" : "false");
}

}  // namespace

PartitionReader::PartitionReader(const Configuration& configuration, std::string topic,
                                 bool tells_ends, Say say)
    : Client(Kind::consumer, of_partitions(configuration, tells_ends), std::move(say), nullptr),
      topic_(std::move(topic)),
      handle_of_topic_(rd_kafka_topic_new(handle(), topic_.c_str(), nullptr)),
      queue_(rd_kafka_queue_new(handle())) {
  if (!handle_of_topic_) require(rd_kafka_last_error(), fmt::format("{} cannot be read", topic_));
}

PartitionReader::~PartitionReader() {
  messages_.clear();
  for (const std::int32_t p : started_) rd_kafka_consume_stop(handle_of_topic_.get(), p);
}

void PartitionReader::start(std::int32_t partition, std::int64_t offset) {
  if (rd_kafka_consume_start_queue(handle_of_topic_.get(), partition, offset, queue_.get()) != 0)
    require(rd_kafka_last_error(), fmt::format("{} [{}] cannot be read", topic_, partition));
  started_.push_back(partition);
}

void PartitionReader::stop(std::int32_t partition) {
  const auto found = std::ranges::find(started_, partition);
  if (found == started_.end()) return;
  started_.erase(found);
  if (rd_kafka_consume_stop(handle_of_topic_.get(), partition) != 0)
    require(rd_kafka_last_error(), fmt::format("{} [{}] cannot be left", topic_, partition));
}

const std::vector<Message>& PartitionReader::poll(std::size_t most, Milliseconds timeout) {
  messages_.clear();
  rd_kafka_poll(handle(), 0);
  require_sound();
  // To ask for many at once would be to wait until there are as many.
  rd_kafka_message_t* const first =
      rd_kafka_consume_queue(queue_.get(), static_cast<int>(timeout.count()));
  if (first == nullptr) return messages_;
  std::vector<rd_kafka_message_t*> raw(most);
  raw.front() = first;
  const ssize_t more =
      rd_kafka_consume_batch_queue(queue_.get(), /*timeout_ms=*/0, raw.data() + 1, most - 1);
  const ssize_t count = 1 + std::max<ssize_t>(0, more);
  std::string why;
  std::optional<Message> gone;
  for (ssize_t k = 0; k < count; ++k) {
    const rd_kafka_message_t* const one = raw[static_cast<std::size_t>(k)];
    Message message(raw[static_cast<std::size_t>(k)]);
    if (one->err == RD_KAFKA_RESP_ERR_NO_ERROR || message.is_end()) {
      messages_.push_back(std::move(message));
    } else if (one->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               one->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      why = rd_kafka_message_errstr(one);
      gone = std::move(message);
    } else {  // the client goes on trying
      note_complaint(one->err, rd_kafka_message_errstr(one));
    }
  }
  if (gone)
    fail(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, KafkaError::Kind::plain,
         fmt::format("reading {} [{}] fails", topic_, gone->partition()), why);
  return messages_;
}

std::optional<std::int64_t> PartitionReader::end(std::int32_t partition) const {
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (rd_kafka_get_watermark_offsets(handle(), topic_.c_str(), partition, &low, &high) !=
          RD_KAFKA_RESP_ERR_NO_ERROR ||
      high < 0)
    return {};
  return high;
}

}  // namespace kalstream::kafka
