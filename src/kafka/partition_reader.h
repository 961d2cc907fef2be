// Reads single partitions of a topic, each from where it is told: as a member of no group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kafka/client.h"

namespace kalstream::kafka {

/// Partitions are started and stopped one by one, and none of them notices the others. Reads
/// committed messages only, and takes no other offset in the place of one that is gone.
class PartitionReader : public Client {
 public:
  /// `tells_ends`: Message::is_end() whenever all that a partition has by then has been read.
  PartitionReader(const Configuration& configuration, std::string topic, bool tells_ends, Say say);
  ~PartitionReader();

  /// From this offset on, or TopicPartition::beginning.
  void start(std::int32_t partition, std::int64_t offset);
  /// What was read ahead of it is dropped.
  void stop(std::int32_t partition);

  /// Those that are there, after waiting for the first; they live until the next call. Throws
  /// KafkaError if a partition cannot be read.
  const std::vector<Message>& poll(std::size_t most, Milliseconds timeout);

  /// The end of a partition that is being read, as the broker said last; nothing before that.
  std::optional<std::int64_t> end(std::int32_t partition) const;

 private:
  std::string topic_;
  // Before the handle of the client goes they have to: see the destructor.
  TopicHandle handle_of_topic_;
  Queue queue_;
  std::vector<std::int32_t> started_;
  std::vector<Message> messages_;
};

}  // namespace kalstream::kafka
