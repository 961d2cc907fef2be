#include "fleet/kafka_log.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>

namespace kalstream::fleet {

using namespace std::chrono_literals;
using kafka::KafkaError;

struct KafkaLog::Member final : Membership {
  explicit Member(kafka::GroupMetadata m) : metadata(std::move(m)) {}
  kafka::GroupMetadata metadata;
};

namespace {

// Cooperative assignment loses and repeats partitions in older clients.
constexpr int sound_cooperative = 0x020a00ff;

kafka::Configuration of_member(kafka::Configuration configuration, const TopicNames& names,
                               const std::string& instance) {
  return configuration.set_default("session.timeout.ms", "6000")
      .set_default("heartbeat.interval.ms", "1000")
      .set_default("partition.assignment.strategy",
                   rd_kafka_version() >= sound_cooperative ? "cooperative-sticky" : "range")
      .set("group.id", names.group)
      .set("group.instance.id", instance);
}

kafka::Configuration of_producer(kafka::Configuration configuration, const TopicNames& names,
                                 const std::string& instance) {
  return configuration.set_default("linger.ms", "0")
      .set_default("transaction.timeout.ms", "60000")
      .set_default("queue.buffering.max.messages", "200000")
      .set_default("queue.buffering.max.kbytes", "262144")
      .set("transactional.id", names.group + '-' + instance);
}

std::vector<int> numbers_of(const std::vector<kafka::TopicPartition>& partitions) {
  std::vector<int> numbers;
  for (const auto& p : partitions) numbers.push_back(p.partition);
  return numbers;
}

bool is_of_membership(int code) {
  return code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
         code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
         code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
}

}  // namespace

KafkaLog::KafkaLog(const kafka::Configuration& configuration, TopicNames names, int partitions,
                   const std::string& instance, const Say& say)
    : names_(std::move(names)),
      partitions_(partitions),
      instance_(instance),
      group_(of_member(configuration, names_, instance), say),
      inputs_(configuration, names_.input, /*tells_ends=*/false, say),
      states_(configuration, names_.state, /*tells_ends=*/true, say),
      producer_(
          of_producer(configuration, names_, instance),
          [this](const kafka::Delivery& d) {
            if (d.error != 0) delivery_error_ = d.error;
            if (d.error == 0 && d.tag > 0) {
              Offset& last = last_state_.try_emplace(static_cast<int>(d.tag) - 1, -1).first->second;
              last = std::max(last, d.offset);
            }
          },
          say),
      say_(say) {}

bool KafkaLog::connect(const std::function<bool()>& stop) {
  while (!stop()) {
    try {
      producer_.find({names_.output, names_.state, names_.dead, names_.workers}, 10s);
      producer_.init_transactions(10s);
      return true;
    } catch (const KafkaError& error) {
      if (!error.retriable() && error.code() != RD_KAFKA_RESP_ERR__TIMED_OUT) throw;
      say_(error.what());
    }
  }
  return false;
}

// ---- The group.

void KafkaLog::join(GroupListener& listener) {
  listener_ = &listener;
  group_.subscribe({names_.input}, *this);
}

void KafkaLog::poll_group() {
  try {
    while (group_.poll(0ms)) {
    }
  } catch (const KafkaError& error) {
    rethrow(error);
  }
}

// It reads nothing: that is left to others, which can be told from where at any time.
void KafkaLog::assigned(const std::vector<kafka::TopicPartition>& partitions) {
  auto nothing = partitions;
  for (auto& p : nothing) p.offset = kafka::TopicPartition::end;
  group_.assign(nothing);
  if (!nothing.empty()) group_.pause(nothing);
  member_ = std::make_shared<Member>(group_.group_metadata());
  listener_->assigned(numbers_of(partitions));
}

void KafkaLog::revoked(const std::vector<kafka::TopicPartition>& partitions) {
  listener_->revoked(numbers_of(partitions));
}

void KafkaLog::lost(const std::vector<kafka::TopicPartition>& partitions) {
  listener_->lost(numbers_of(partitions));
}

// Where all partitions are given back before others are given out, the generation is that of the
// assignment; else it may have changed since.
std::shared_ptr<const Membership> KafkaLog::membership() {
  if (group_.is_cooperative() && !group_.assignment_lost())
    member_ = std::make_shared<Member>(group_.group_metadata());
  return member_;
}

std::map<int, std::optional<Committed>> KafkaLog::committed(std::span<const int> partitions) {
  std::vector<kafka::TopicPartition> asked;
  for (const int p : partitions) asked.push_back({names_.input, p});
  std::map<int, std::optional<Committed>> found;
  const auto ask = [&](const std::vector<kafka::TopicPartition>& these, Milliseconds timeout) {
    try {
      for (const auto& p : group_.committed(these, timeout)) {
        found[p.partition] = {};
        if (p.offset >= 0) found[p.partition] = {.offset = p.offset, .metadata = p.metadata};
      }
      return true;
    } catch (const KafkaError& error) {
      if (error.fatal()) rethrow(error);
      return false;
    }
  };
  if (ask(asked, 1s)) return found;
  for (const auto& one : asked) ask({one}, 100ms);  // of some nobody can say it yet
  return found;
}

// ---- Reading.

std::span<const Input> KafkaLog::poll_inputs(std::size_t most, Milliseconds wait) {
  read_.clear();
  try {
    for (const kafka::Message& m : inputs_.poll(most, wait))
      read_.push_back({.partition = m.partition(),
                       .offset = m.offset(),
                       .key = m.key(),
                       .value = m.value(),
                       .is_import = m.header(import_header).has_value()});
  } catch (const KafkaError& error) {
    if (error.code() == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
      throw InputsGone(fmt::format(
          "{}; what this fleet has not taken, or has to take again, is lost", error.what()));
    rethrow(error);
  }
  return read_;
}

std::optional<Offset> KafkaLog::lag(int partition, Offset from) {
  const auto end = inputs_.end(partition);
  if (!end) return {};
  return std::max<Offset>(0, *end - std::max<Offset>(0, from));
}

std::span<const StateRecord> KafkaLog::poll_state(std::size_t most, Milliseconds wait) {
  read_states_.clear();
  try {
    for (const kafka::Message& m : states_.poll(most, wait)) {
      StateRecord record{.partition = m.partition(), .offset = m.offset(), .is_end = m.is_end()};
      if (!record.is_end) {
        record.key = m.key().value_or("");
        record.value = m.value();
        for (const kafka::Header& h : m.headers())
          record.headers.emplace_back(h.name, h.value.value_or(""));
      }
      read_states_.push_back(std::move(record));
    }
  } catch (const KafkaError& error) {
    rethrow(error);
  }
  return read_states_;
}

// ---- Transactions.

const std::string& KafkaLog::name_of(Topic topic) const {
  const std::array names{&names_.output, &names_.state, &names_.dead, &names_.workers};
  return *names[static_cast<std::size_t>(topic)];
}

void KafkaLog::rethrow(const KafkaError& error) const {
  if (error.code() == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    throw Fenced(fmt::format(
        "another process runs as instance {} of the fleet {}: this one stops; give every worker "
        "its own --instance",
        instance_, names_.group));
  if (error.fenced()) throw TransactionsFenced(error.what());
  if (error.fatal() || is_of_membership(error.code())) throw MembershipLost(error.what());
  if (error.abortable()) throw TransactionFailed(error.what());
  throw error;
}

// The same again while it may succeed.
void KafkaLog::transact(const std::function<void()>& call) {
  while (true) {
    if (given_up_) throw MembershipLost("the worker stops");
    try {
      return call();
    } catch (const KafkaError& error) {
      if (error.retriable() ||
          (!error.fatal() && !error.abortable() && error.code() == RD_KAFKA_RESP_ERR__TIMED_OUT))
        continue;
      rethrow(error);
    }
  }
}

void KafkaLog::begin() {
  last_state_.clear();
  delivery_error_ = 0;
  transact([&] { producer_.begin(); });
}

void KafkaLog::produce(const Message& message) {
  std::array<kafka::Header, 4> headers;
  std::size_t count = 0;
  for (const Header& h : message.headers) headers[count++] = {h.name, h.value};
  const bool is_state = message.topic == Topic::state;
  transact([&] {
    producer_.produce({.topic = name_of(message.topic),
                       .partition = message.partition,
                       .key = message.key,
                       .value = message.value,
                       .headers = std::span(headers).first(count),
                       .tag = is_state ? static_cast<std::uint64_t>(message.partition) + 1 : 0});
  });
}

std::map<int, Offset> KafkaLog::flush() {
  while (!producer_.flush(500ms))
    if (given_up_) throw MembershipLost("the worker stops");
  if (delivery_error_ == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
      delivery_error_ == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
    throw std::runtime_error(fmt::format("a message is not taken by the broker: {}{}",
                                         kafka::name_of(delivery_error_),
                                         kafka::advice_for(delivery_error_)));
  if (delivery_error_ != 0) transact([&] { producer_.require_sound(); });
  if (delivery_error_ != 0)
    throw TransactionFailed(
        fmt::format("messages were not delivered: {}", kafka::name_of(delivery_error_)));
  return last_state_;
}

void KafkaLog::send_offsets(const std::map<int, Committed>& offsets, const Membership& membership) {
  std::vector<kafka::TopicPartition> list;
  for (const auto& [partition, committed] : offsets)
    list.push_back({names_.input, partition, committed.offset, committed.metadata});
  const auto& member = dynamic_cast<const Member&>(membership);
  transact([&] { producer_.send_offsets(list, member.metadata, 5s); });
}

void KafkaLog::commit() {
  transact([&] { producer_.commit(5s); });
}

void KafkaLog::abort() {
  transact([&] { producer_.abort(5s); });
}

}  // namespace kalstream::fleet
