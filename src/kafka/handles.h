// Owners of what librdkafka's C functions give and take; only for the sources of this room.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "kafka/message.h"

namespace kalstream::kafka {

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
using Error = Owner<rd_kafka_error_t, rd_kafka_error_destroy>;

inline PartitionList to_list(const std::vector<TopicPartition>& partitions) {
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

inline std::vector<TopicPartition> from_list(const rd_kafka_topic_partition_list_t& list) {
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

}  // namespace kalstream::kafka
