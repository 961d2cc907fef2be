// What is asked of a cluster as a whole: topics and their settings, groups and their members.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kafka/client.h"

namespace kalstream::kafka {

struct NewTopic {
  std::string name;
  std::int32_t partitions = 1;
  std::int32_t replication = -1;  ///< copies; −1: as the cluster has it
  std::map<std::string, std::string> settings = {};
};

struct Topic {
  std::string name;
  std::int32_t partitions = 0;
  std::int32_t replication = 0;
  std::map<std::string, std::string> settings = {};  ///< all, also those that are defaults

  /// Of a setting that is a number; −1, which means no limit, where there is none.
  std::int64_t number(const std::string& setting) const;
};

struct Member {
  std::string id;
  std::string instance;  ///< group.instance.id; empty: it has none
  std::string host;
  std::vector<TopicPartition> partitions;
};

struct Group {
  std::string name;
  std::string state;  ///< "Stable", "PreparingRebalance", "Empty", "Dead" …
  std::vector<Member> members;
};

/// Every call ends within the timeout, by an answer or a KafkaError.
class Admin : public Client {
 public:
  Admin(Configuration configuration, Say say, Milliseconds timeout = std::chrono::seconds(10));

  /// Throws KafkaError, saying why as far as that can be known, unless a broker answers.
  void connect();

  /// Nothing if there is no such topic.
  std::optional<Topic> describe(const std::string& topic);
  /// Those that did not exist, which are there now and can be written. Throws KafkaError for the
  /// first that cannot be made.
  std::vector<std::string> create(const std::vector<NewTopic>& topics);
  /// One that nobody has ever joined is "Dead", and has no members.
  Group describe_group(const std::string& name);
  /// What a group has committed of these partitions, without waiting for transactions that are
  /// under way; no_offset where that is nothing.
  std::vector<TopicPartition> group_offsets(const std::string& group,
                                            const std::vector<TopicPartition>& partitions);

 private:
  using Answer = Owner<rd_kafka_event_t, rd_kafka_event_destroy>;
  /// Sends a request by `send(options, queue)` and waits for what comes back: nullptr if nothing
  /// does.
  template <typename Send>
  Answer ask(rd_kafka_admin_op_t operation, Milliseconds timeout, const Send& send);
  std::optional<Topic> partitions_of(const std::string& topic);
  bool read_settings(Topic& topic, bool must);

  Milliseconds timeout_;
  std::set<std::string> created_;  // by this one
  int brokers_ = 1;                // as the last answer had them
};

}  // namespace kalstream::kafka
