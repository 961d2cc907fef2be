// Owners of what librdkafka's C functions give and take.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

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
using TopicHandle = Owner<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using Error = Owner<rd_kafka_error_t, rd_kafka_error_destroy>;

/// The group a consumer is a member of, at one moment: what a transaction's offsets belong to.
using GroupMetadata =
    Owner<rd_kafka_consumer_group_metadata_t, rd_kafka_consumer_group_metadata_destroy>;

}  // namespace kalstream::kafka
