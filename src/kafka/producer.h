// Writes topics, in transactions.
#pragma once

#include "kafka/client.h"
#include "kafka/consumer.h"

namespace kalstream::kafka {

/// What became of a message.
struct Delivery {
  std::uint64_t tag = 0;
  std::int32_t partition = 0;
  std::int64_t offset = 0;  ///< where it is now
  int error = 0;            ///< rd_kafka_resp_err_t; not 0: it is nowhere
};

/// A transaction fails by KafkaError: abortable() — abort() and begin again; retriable() — the same
/// call again; fatal() — be restarted; fenced() says whether another has taken over.
class Producer : public Client {
 public:
  using Delivered = std::function<void(const Delivery&)>;

  /// Transactional if the configuration has a transactional.id. `delivered` is called from within
  /// the methods below, in their thread; what it throws comes out there.
  Producer(Configuration configuration, Delivered delivered, Say say);
  ~Producer();

  /// Finds out where these topics are, so that their first messages need not wait for that.
  void find(const std::vector<std::string>& topics, Milliseconds timeout);
  /// Once, before all else: fences others of the same transactional.id, and ends what they left.
  void init_transactions(Milliseconds timeout);
  void begin();
  /// These offsets become the group's when the transaction is committed: each that of the next
  /// message to read, with its metadata.
  void send_offsets(const std::vector<TopicPartition>& offsets, const GroupMetadata& group,
                    Milliseconds timeout);
  /// Waits until all is delivered, then commits.
  void commit(Milliseconds timeout);
  void abort(Milliseconds timeout);

  /// Waits for room if the queue is full. Throws KafkaError, e.g. for a message that is too large.
  void produce(const Outgoing& message);
  /// Until all are delivered or have failed. False if some are not yet.
  bool flush(Milliseconds timeout);

 private:
  void report(const rd_kafka_message_t& message);

  Delivered delivered_;
};

/// Writes one message, with the settings of the client, and waits until it is there; where that is.
/// Throws KafkaError, whose text begins with `doing`.
Delivery write_one(const Client& client, const Outgoing& message, const std::string& doing);

}  // namespace kalstream::kafka
