// What is read from a topic, and what is written to one.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream::kafka {

// ---- Owners of what librdkafka's C functions give and take.

template <auto destroy>
struct DestroyBy {
  template <typename T>
  void operator()(T* t) const {
    destroy(t);
  }
};

template <typename T, auto destroy>
using Owner = std::unique_ptr<T, DestroyBy<destroy>>;

using PartitionList = Owner<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
using Queue = Owner<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using TopicHandle = Owner<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using Error = Owner<rd_kafka_error_t, rd_kafka_error_destroy>;

/// The group a consumer is a member of, at one moment: what a transaction's offsets belong to.
using GroupMetadata =
    Owner<rd_kafka_consumer_group_metadata_t, rd_kafka_consumer_group_metadata_destroy>;

// ---- Messages and their places.

/// A place in a topic. With `metadata` an offset to be committed, or one that was.
struct TopicPartition {
  static constexpr std::int64_t no_offset = -1001;  ///< none is known, or committed
  static constexpr std::int64_t beginning = -2;
  static constexpr std::int64_t end = -1;

  std::string topic;
  std::int32_t partition = 0;
  std::int64_t offset = no_offset;
  std::string metadata = {};

  bool operator==(const TopicPartition&) const = default;
};

PartitionList to_list(const std::vector<TopicPartition>& partitions);
std::vector<TopicPartition> from_list(const rd_kafka_topic_partition_list_t& list);

/// A header of a message; its value may be null.
struct Header {
  std::string_view name;
  std::optional<std::string_view> value;
};

/// A message as the broker gave it. Its texts live as long as it does.
class Message {
 public:
  explicit Message(rd_kafka_message_t* message) : message_(message) {}

  std::string topic() const { return rd_kafka_topic_name(message_->rkt); }
  std::int32_t partition() const { return message_->partition; }
  std::int64_t offset() const { return message_->offset; }
  std::int64_t timestamp_ms() const;  ///< −1: it has none
  std::optional<std::string_view> key() const;
  std::optional<std::string_view> value() const;  ///< null: a tombstone
  std::vector<Header> headers() const;
  /// The value of the last header of this name; nothing if there is none, or it is null.
  std::optional<std::string_view> header(const char* name) const;

  /// No message: its partition has been read up to offset(), where it ended at that moment. Only
  /// with enable.partition.eof=true.
  bool is_end() const { return message_->err == RD_KAFKA_RESP_ERR__PARTITION_EOF; }

 private:
  Owner<rd_kafka_message_t, rd_kafka_message_destroy> message_;
};

/// A message to be written. Its texts are copied at once.
struct Outgoing {
  std::string_view topic;
  std::int32_t partition = 0;
  std::optional<std::string_view> key = {};
  std::optional<std::string_view> value = {};
  std::span<const Header> headers = {};
  std::uint64_t tag = 0;  ///< comes back with the delivery report
};

/// The partition of a key among so many, as Kafka's clients in Java choose it (murmur2), and
/// librdkafka's with partitioner=murmur2_random; by itself it takes CRC32.
std::int32_t partition_of(std::string_view key, std::int32_t partitions);

}  // namespace kalstream::kafka
