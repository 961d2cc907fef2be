#include "kafka/admin.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <thread>

namespace kalstream::kafka {

namespace {

using AdminClock = std::chrono::steady_clock;
using NewTopicOwner = Owner<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using ResourceOwner = Owner<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;

int error_of(rd_kafka_event_t* answer) {
  return answer == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT
                           : static_cast<int>(rd_kafka_event_error(answer));
}

std::string or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

template <typename Send>
Admin::Answer Admin::ask(rd_kafka_admin_op_t operation, Milliseconds timeout, const Send& send) {
  const Owner<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(handle(), operation));
  std::array<char, 256> why{};
  const auto ms = static_cast<int>(timeout.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), ms, why.data(), why.size());
  if (operation == RD_KAFKA_ADMIN_OP_CREATETOPICS)
    rd_kafka_AdminOptions_set_operation_timeout(options.get(), ms, why.data(), why.size());
  const Queue queue(rd_kafka_queue_new(handle()));
  send(options.get(), queue.get());
  rd_kafka_poll(handle(), 0);  // lets complaints come in
  constexpr int grace = 1000;  // the request has a timeout of its own, which tells more
  return Answer(rd_kafka_queue_poll(queue.get(), ms + grace));
}

std::int64_t Topic::number(const std::string& setting) const {
  const auto at = settings.find(setting);
  std::int64_t value = -1;
  if (at != settings.end())
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
  return value;
}

// A consumer without a group: a producer would create topics by asking for them.
Admin::Admin(Configuration configuration, Say say, Milliseconds timeout)
    : Client(Kind::consumer, std::move(configuration), std::move(say), nullptr),
      timeout_(timeout) {}

void Admin::connect() {
  auto deadline = AdminClock::now() + timeout_;
  for (;;) {
    constexpr int step = 200;  // between two looks at what connections complain of
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto code = rd_kafka_metadata(handle(), 0, nullptr, &metadata, step);
    rd_kafka_poll(handle(), 0);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_metadata_destroy(metadata);
      return;
    }
    const auto [complaint, reason] = last_complaint();
    const auto now = AdminClock::now();
    // A wrong password stays wrong; but another broker may know it.
    if (complaint == RD_KAFKA_RESP_ERR__AUTHENTICATION || complaint == RD_KAFKA_RESP_ERR__SSL)
      deadline = std::min(deadline, now + std::chrono::seconds(2));
    if (now >= deadline)
      throw KafkaError(complaint != 0 ? complaint : code, KafkaError::Kind::plain,
                       fmt::format("no connection to {}: {}{}", configuration().brokers(),
                                   complaint != 0 ? reason : name_of(code),
                                   advice_for(complaint != 0 ? complaint : code)));
    if (code != RD_KAFKA_RESP_ERR__TIMED_OUT)  // it did not wait
      std::this_thread::sleep_for(Milliseconds(step));
  }
}

std::optional<Topic> Admin::partitions_of(const std::string& name) {
  const TopicHandle topic(rd_kafka_topic_new(handle(), name.c_str(), nullptr));
  const std::string doing = fmt::format("the topic {} cannot be looked at", name);
  if (topic == nullptr) require(rd_kafka_last_error(), doing);
  const rd_kafka_metadata_t* raw = nullptr;
  require(rd_kafka_metadata(handle(), 0, topic.get(), &raw, static_cast<int>(timeout_.count())),
          doing);
  const Owner<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata(raw);
  brokers_ = metadata->broker_cnt;
  if (metadata->topic_cnt != 1) return {};
  const rd_kafka_metadata_topic_t& found = metadata->topics[0];
  if (found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return {};
  if (found.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) require(found.err, doing);
  Topic result{.name = name, .partitions = found.partition_cnt};
  if (found.partition_cnt > 0) result.replication = found.partitions[0].replica_cnt;
  return result;
}

// Brokers hear of a new topic one after the other: one may know it, and the next not yet. Where
// there are several, that one of them does not know it is therefore not believed at once.
std::optional<Topic> Admin::describe(const std::string& name) {
  constexpr Milliseconds to_hear_of_it(2000);
  const auto start = AdminClock::now();
  for (;;) {
    auto topic = partitions_of(name);
    const auto waited = AdminClock::now() - start;
    if (topic && read_settings(*topic, waited > timeout_)) return topic;
    const Milliseconds patience = brokers_ > 1 ? to_hear_of_it : Milliseconds(0);
    if (!topic && waited >= (created_.contains(name) ? timeout_ : patience)) return {};
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

// False if the broker that is asked does not know the topic, or is silent, unless it must: another
// may be asked then.
bool Admin::read_settings(Topic& topic, bool must) {
  constexpr Milliseconds patience(3000);
  const std::string doing = fmt::format("the settings of the topic {} cannot be read", topic.name);
  const ResourceOwner resource(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.name.c_str()));
  rd_kafka_ConfigResource_t* raw = resource.get();
  const Answer answer =
      ask(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, patience, [&](auto* options, auto* queue) {
        rd_kafka_DescribeConfigs(handle(), &raw, 1, options, queue);
      });
  if (error_of(answer.get()) == RD_KAFKA_RESP_ERR__TIMED_OUT && !must) return false;
  require(error_of(answer.get()), doing);
  std::size_t n = 0;
  const auto* const result = rd_kafka_event_DescribeConfigs_result(answer.get());
  const auto* const* const found = rd_kafka_DescribeConfigs_result_resources(result, &n);
  if (n == 0) return true;
  const auto code = rd_kafka_ConfigResource_error(found[0]);
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && !must) return false;
  require(code, doing);
  std::size_t entries = 0;
  const auto* const* const entry = rd_kafka_ConfigResource_configs(found[0], &entries);
  for (std::size_t i = 0; i < entries; ++i)
    topic.settings[rd_kafka_ConfigEntry_name(entry[i])] =
        or_empty(rd_kafka_ConfigEntry_value(entry[i]));
  return true;
}

std::vector<std::string> Admin::create(const std::vector<NewTopic>& topics) {
  std::vector<std::string> created;
  if (topics.empty()) return created;
  std::vector<NewTopicOwner> owners;
  std::vector<rd_kafka_NewTopic_t*> raw;
  std::array<char, 512> why{};
  for (const NewTopic& topic : topics) {
    owners.emplace_back(rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions,
                                              topic.replication, why.data(), why.size()));
    if (owners.back() == nullptr)
      throw std::invalid_argument(fmt::format("the topic {}: {}", topic.name, why.data()));
    for (const auto& [name, value] : topic.settings)
      rd_kafka_NewTopic_set_config(owners.back().get(), name.c_str(), value.c_str());
    raw.push_back(owners.back().get());
  }
  const Answer answer =
      ask(RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout_, [&](auto* options, auto* queue) {
        rd_kafka_CreateTopics(handle(), raw.data(), raw.size(), options, queue);
      });
  require(error_of(answer.get()), "topics cannot be created");
  std::size_t n = 0;
  const auto* const* const results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer.get()), &n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto code = rd_kafka_topic_result_error(results[i]);
    const std::string name = rd_kafka_topic_result_name(results[i]);
    if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      fail(code, KafkaError::Kind::plain, fmt::format("the topic {} cannot be created", name),
           or_empty(rd_kafka_topic_result_error_string(results[i])));
    created.push_back(name);
    created_.insert(name);
  }
  // The controller knows them; wait until other brokers do.
  const auto deadline = AdminClock::now() + timeout_;
  for (const std::string& name : created)
    for (;;) {
      const auto topic = partitions_of(name);
      if (topic && topic->replication > 0) break;
      if (AdminClock::now() > deadline)
        require(RD_KAFKA_RESP_ERR__TIMED_OUT, fmt::format("the topic {} is not ready", name));
      std::this_thread::sleep_for(Milliseconds(20));
    }
  return created;
}

Group Admin::describe_group(const std::string& name) {
  const std::string doing = fmt::format("the group {} cannot be looked at", name);
  const char* text = name.c_str();
  const Answer answer =
      ask(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout_, [&](auto* options, auto* queue) {
        rd_kafka_DescribeConsumerGroups(handle(), &text, 1, options, queue);
      });
  require(error_of(answer.get()), doing);
  std::size_t n = 0;
  const auto* const* const groups = rd_kafka_DescribeConsumerGroups_result_groups(
      rd_kafka_event_DescribeConsumerGroups_result(answer.get()), &n);
  Group group{.name = name, .state = "Dead"};
  if (n == 0) return group;
  if (const auto* const error = rd_kafka_ConsumerGroupDescription_error(groups[0])) {
    const int code = rd_kafka_error_code(error);
    if (code == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND) return group;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      fail(code, KafkaError::Kind::plain, doing, rd_kafka_error_string(error));
  }
  group.state =
      rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(groups[0]));
  for (std::size_t i = 0; i < rd_kafka_ConsumerGroupDescription_member_count(groups[0]); ++i) {
    const auto* const m = rd_kafka_ConsumerGroupDescription_member(groups[0], i);
    group.members.push_back({.id = or_empty(rd_kafka_MemberDescription_consumer_id(m)),
                             .instance = or_empty(rd_kafka_MemberDescription_group_instance_id(m)),
                             .host = or_empty(rd_kafka_MemberDescription_host(m)),
                             .partitions = {}});
    if (const auto* const assignment = rd_kafka_MemberDescription_assignment(m))
      if (const auto* const list = rd_kafka_MemberAssignment_partitions(assignment))
        group.members.back().partitions = from_list(*list);
  }
  return group;
}

std::vector<TopicPartition> Admin::group_offsets(const std::string& group,
                                                 const std::vector<TopicPartition>& partitions) {
  const std::string doing = fmt::format("the offsets of the group {} cannot be read", group);
  const Owner<rd_kafka_ListConsumerGroupOffsets_t, rd_kafka_ListConsumerGroupOffsets_destroy>
      request(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), to_list(partitions).get()));
  rd_kafka_ListConsumerGroupOffsets_t* raw = request.get();
  const Answer answer =
      ask(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout_, [&](auto* options, auto* queue) {
        rd_kafka_ListConsumerGroupOffsets(handle(), &raw, 1, options, queue);
      });
  require(error_of(answer.get()), doing);
  std::size_t n = 0;
  const auto* const* const groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(answer.get()), &n);
  if (n == 0) return partitions;
  if (const auto* const error = rd_kafka_group_result_error(groups[0]))
    require(rd_kafka_error_code(error), doing);
  const auto* const list = rd_kafka_group_result_partitions(groups[0]);
  return list == nullptr ? partitions : from_list(*list);
}

}  // namespace kalstream::kafka
