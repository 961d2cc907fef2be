// Reads topics: as a member of a group, or partitions it is told to.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kafka/client.h"

namespace kalstream::kafka {

/// Hears of partitions that come and go. Called from within poll() and close(), in their thread;
/// what it throws comes out there.
class RebalanceListener {
 public:
  virtual ~RebalanceListener() = default;
  /// These are the consumer's now: Consumer::assign(), called here, tells it from where to read
  /// them.
  virtual void assigned(const std::vector<TopicPartition>& partitions) = 0;
  /// These go; the last moment to commit what was done with them. They are unassigned afterwards.
  virtual void revoked(const std::vector<TopicPartition>& partitions) = 0;
  /// These are gone already, maybe to somebody else: nothing can be committed any more.
  virtual void lost(const std::vector<TopicPartition>& partitions) = 0;
};

/// Reads committed messages only, commits nothing by itself, and takes no other offset in the place
/// of one that is gone: these are set here, whatever the configuration says.
class Consumer : public Client {
 public:
  /// Nothing is asked of the group (group.id) before subscribe() or committed().
  /// When it goes it leaves without a word, as if it were killed, unless close() was called.
  Consumer(Configuration configuration, Say say);

  /// Joins the group. The listener must outlive the consumer.
  void subscribe(const std::vector<std::string>& topics, RebalanceListener& listener);
  /// Leaves the group, as far as that can be done in time: no partition is accepted any more.
  void close(Milliseconds timeout);
  /// What partitions it has are not its own any more, though nobody has told it.
  bool assignment_lost() const;
  /// Partitions come and go one by one (cooperative), instead of all at once.
  bool is_cooperative() const;

  /// Reads these partitions, from their offsets on: of all it has in place of those before, or in
  /// addition to them where is_cooperative().
  void assign(const std::vector<TopicPartition>& partitions);
  void pause(const std::vector<TopicPartition>& partitions);
  void resume(const std::vector<TopicPartition>& partitions);

  /// The next message. Throws KafkaError; a partition's failure names it. To be called at least
  /// every max.poll.interval.ms, whether there is something to read or not.
  std::optional<Message> poll(Milliseconds most);

  /// The group's offsets, with metadata; no_offset where there is none. Waits for transactions that
  /// are under way.
  std::vector<TopicPartition> committed(const std::vector<TopicPartition>& partitions,
                                        Milliseconds timeout) const;
  GroupMetadata group_metadata() const;

 private:
  void rebalance(int code, rd_kafka_topic_partition_list_t* list);

  RebalanceListener* listener_ = nullptr;
  bool closing_ = false;
};

// ---- What a topic holds, and no more: for records that are looked up.

using TakeMessage = std::function<void(const Message&)>;

// All with the settings of the client.

/// Every committed message of these partitions that is there at this moment, in the order of each
/// partition. Throws KafkaError if nothing comes for long, as the other does.
void read_topic(const Client& client, const std::string& topic,
                const std::vector<std::int32_t>& partitions, const TakeMessage& take);

/// Those of one partition from its offset on and before `end`, as far as they are there.
void read_range(const Client& client, const TopicPartition& from, std::int64_t end,
                const TakeMessage& take);

}  // namespace kalstream::kafka
