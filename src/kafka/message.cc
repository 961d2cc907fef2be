#include "kafka/message.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace kalstream::kafka {

namespace {

std::optional<std::string_view> text_of(const void* text, std::size_t size) {
  if (text == nullptr) return {};
  return std::string_view(static_cast<const char*>(text), size);
}

}  // namespace

PartitionList to_list(const std::vector<TopicPartition>& partitions) {
  PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const TopicPartition& p : partitions) {
    auto* const entry = rd_kafka_topic_partition_list_add(list.get(), p.topic.c_str(), p.partition);
    entry->offset = p.offset;
    if (p.metadata.empty()) continue;
    entry->metadata = std::malloc(p.metadata.size());  // the list frees it
    if (entry->metadata == nullptr) throw std::bad_alloc();
    std::memcpy(entry->metadata, p.metadata.data(), p.metadata.size());
    entry->metadata_size = p.metadata.size();
  }
  return list;
}

std::vector<TopicPartition> from_list(const rd_kafka_topic_partition_list_t& list) {
  std::vector<TopicPartition> partitions;
  for (int i = 0; i < list.cnt; ++i) {
    const rd_kafka_topic_partition_t& entry = list.elems[i];
    partitions.push_back({entry.topic, entry.partition, entry.offset, {}});
    if (entry.metadata != nullptr)
      partitions.back().metadata.assign(static_cast<const char*>(entry.metadata),
                                        entry.metadata_size);
  }
  return partitions;
}

std::int64_t Message::timestamp_ms() const {
  rd_kafka_timestamp_type_t type{};
  return rd_kafka_message_timestamp(message_.get(), &type);
}

std::optional<std::string_view> Message::key() const {
  return text_of(message_->key, message_->key_len);
}

std::optional<std::string_view> Message::value() const {
  return text_of(message_->payload, message_->len);
}

std::vector<Header> Message::headers() const {
  std::vector<Header> headers;
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(message_.get(), &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return headers;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
    headers.push_back({name, text_of(value, size)});
  return headers;
}

std::optional<std::string_view> Message::header(const char* name) const {
  rd_kafka_headers_t* list = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  if (rd_kafka_message_headers(message_.get(), &list) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      rd_kafka_header_get_last(list, name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return {};
  return text_of(value, size);
}

std::int32_t partition_of(std::string_view key, std::int32_t partitions) {
  // MurmurHash2, 32 bits, with the seed of Kafka's clients in Java.
  constexpr std::uint32_t m = 0x5bd1e995;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(key[i]));
  };
  auto h = 0x9747b28c ^ static_cast<std::uint32_t>(key.size());
  std::size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) {
    std::uint32_t k = byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
    k *= m;
    k ^= k >> 24;
    h = (h * m) ^ (k * m);
  }
  if (i < key.size()) {
    for (std::size_t rest = key.size(); rest-- > i;) h ^= byte(rest) << (8 * (rest - i));
    h *= m;
  }
  h ^= h >> 13;
  h *= m;
  h ^= h >> 15;
  return static_cast<std::int32_t>(h & 0x7fffffff) % partitions;
}

}  // namespace kalstream::kafka
