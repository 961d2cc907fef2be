// A worker's log on Apache Kafka.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fleet/log.h"
#include "fleet/topics.h"
#include "kafka/consumer.h"
#include "kafka/partition_reader.h"
#include "kafka/producer.h"

namespace kalstream::fleet {

/// A consumer that is a member of the group and reads nothing, readers of single partitions of
/// inputs and states, and a producer of transactions that belongs to whoever commits.
class KafkaLog final : public Log, private kafka::RebalanceListener {
 public:
  KafkaLog(const kafka::Configuration& configuration, TopicNames names, int partitions,
           const std::string& instance, const Say& say);

  /// First of all: waits for the broker, and fences a process of the same instance that may still
  /// run. False: told to stop. Throws kafka::KafkaError.
  bool connect(const std::function<bool()>& stop);

  int partitions() const override { return partitions_; }
  void join(GroupListener& listener) override;
  void poll_group() override;
  void close() override { group_.close(std::chrono::seconds(10)); }
  std::shared_ptr<const Membership> membership() override;
  std::map<int, std::optional<Committed>> committed(std::span<const int> partitions) override;

  void start_inputs(int partition, Offset from) override { inputs_.start(partition, from); }
  void stop_inputs(int partition) override { inputs_.stop(partition); }
  std::span<const Input> poll_inputs(std::size_t most, Milliseconds wait) override;
  std::optional<Offset> lag(int partition, Offset from) override;
  void start_state(int partition, Offset from) override { states_.start(partition, from); }
  void stop_state(int partition) override { states_.stop(partition); }
  std::span<const StateRecord> poll_state(std::size_t most, Milliseconds wait) override;

  void begin() override;
  void produce(const Message& message) override;
  std::map<int, Offset> flush() override;
  void send_offsets(const std::map<int, Committed>& offsets, const Membership& membership) override;
  void commit() override;
  void abort() override;
  void give_up() override { given_up_ = true; }

 private:
  struct Member;

  void assigned(const std::vector<kafka::TopicPartition>& partitions) override;
  void revoked(const std::vector<kafka::TopicPartition>& partitions) override;
  void lost(const std::vector<kafka::TopicPartition>& partitions) override;

  const std::string& name_of(Topic topic) const;
  void transact(const std::function<void()>& call);
  [[noreturn]] void rethrow(const kafka::KafkaError& error) const;

  TopicNames names_;
  int partitions_;
  std::string instance_;
  kafka::Consumer group_;
  kafka::PartitionReader inputs_;
  kafka::PartitionReader states_;
  kafka::Producer producer_;
  Say say_;
  GroupListener* listener_ = nullptr;
  std::shared_ptr<const Member> member_;  // as of the last assignment
  std::vector<Input> read_;
  std::vector<StateRecord> read_states_;

  // Of whoever commits.
  std::map<int, Offset> last_state_;  // by partition
  int delivery_error_ = 0;
  std::atomic<bool> given_up_ = false;
};

}  // namespace kalstream::fleet
