// A log in memory, for tests: with transactions that only whole ones are seen of, producers and
// members that are fenced, and a crash at any step.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fleet/log.h"

namespace kalstream::fleet {

struct Crash {};  // no std::exception: nobody may handle it

class MemoryLog;

/// What all workers share, and what outlives them. Every call is a step. Any thread may call it.
class MemoryBroker {
 public:
  explicit MemoryBroker(int partitions) : partitions_(partitions) {}

  struct Stored {
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<Header> headers;
    int transaction = 0;
    bool is_marker = false;  // of a transaction's end: takes an offset, says nothing
  };

  /// Asked before every step, by one thread at a time; a test throws there. Must not be replaced
  /// while a worker with a thread is there.
  std::function<void(const std::string& step)> before_step = [](const std::string&) {};
  /// Control: everything is seen at once, and nobody is fenced.
  bool has_transactions = true;

  Offset add_input(int partition, std::optional<std::string> key, std::optional<std::string> value,
                   std::vector<Header> headers = {}) {
    const std::lock_guard lock(mutex_);
    auto& log = input_[partition];
    log.push_back({std::move(key), std::move(value), std::move(headers)});
    return static_cast<Offset>(log.size()) - 1;
  }

  /// What a reader of committed messages sees.
  std::vector<std::pair<Offset, const Stored*>> committed(Topic topic, int partition) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<Offset, const Stored*>> seen;
    const auto found = topics_.find({topic, partition});
    if (found == topics_.end()) return seen;
    for (std::size_t k = 0; k < found->second.size(); ++k) {
      const Stored& s = found->second[k];
      if (is_open(s.transaction)) break;
      if (!s.is_marker && !aborted_.contains(s.transaction))
        seen.emplace_back(static_cast<Offset>(k), &s);
    }
    return seen;
  }
  Offset end(Topic topic, int partition) const {
    const std::lock_guard lock(mutex_);
    const auto found = topics_.find({topic, partition});
    if (found == topics_.end()) return 0;
    for (std::size_t k = 0; k < found->second.size(); ++k)
      if (is_open(found->second[k].transaction)) return static_cast<Offset>(k);
    return static_cast<Offset>(found->second.size());
  }
  std::optional<Committed> progress(int partition) const {
    const std::lock_guard lock(mutex_);
    const auto found = offsets_.find(partition);
    return found == offsets_.end() ? std::nullopt : std::optional(found->second);
  }

  /// As when its session has timed out; its transaction goes on until that times out, too.
  void declare_dead(const std::string& instance) {
    const std::lock_guard lock(mutex_);
    if (members_.erase(instance) > 0) begin_rebalance();
  }
  void time_out_transaction(const std::string& instance) {
    const std::lock_guard lock(mutex_);
    ++epochs_[instance];
    abort_of(instance);
  }
  void rebalance() {
    const std::lock_guard lock(mutex_);
    begin_rebalance();
  }

  /// All snapshots but the last of each key go, as by compaction.
  void compact() {
    const std::lock_guard lock(mutex_);
    for (auto& [place, log] : topics_) {
      if (place.first != Topic::state) continue;
      std::set<std::string> later;
      for (std::size_t k = log.size(); k-- > 0;) {
        Stored& s = log[k];
        if (s.is_marker || is_open(s.transaction)) continue;
        if (aborted_.contains(s.transaction) || !later.insert(*s.key).second) s.is_marker = true;
      }
    }
  }

  int partitions() const { return partitions_; }

 private:
  friend class MemoryLog;

  struct Member {
    int epoch = 0;                // of the process
    std::vector<int> partitions;  // it has been given
    bool must_revoke = false;     // before the next generation begins
    bool must_hear = false;       // what it has been given
  };

  bool is_open(int transaction) const { return open_.contains(transaction); }

  void end_transaction(int transaction, bool commits) {
    const auto found = open_.find(transaction);
    if (found == open_.end()) return;
    for (const auto& place : found->second.places)
      topics_[place].push_back({.transaction = transaction, .is_marker = true});
    if (commits)
      for (const auto& [p, c] : found->second.offsets) offsets_[p] = c;
    else
      aborted_.insert(transaction);
    open_.erase(found);
  }
  void abort_of(const std::string& instance) {
    for (auto it = open_.begin(); it != open_.end();) {
      const int id = it->first;
      const bool is_its = it->second.instance == instance;
      ++it;
      if (is_its) end_transaction(id, false);
    }
  }

  void begin_rebalance() {
    rebalancing_ = true;
    for (auto& [instance, m] : members_) {
      m.must_revoke = true;
      m.must_hear = false;
    }
    go_on_rebalancing();
  }
  void go_on_rebalancing() {
    if (!rebalancing_) return;
    for (const auto& [instance, m] : members_)
      if (m.must_revoke) return;
    rebalancing_ = false;
    ++generation_;
    std::vector<Member*> all;
    for (auto& [instance, m] : members_) {
      m.partitions.clear();
      m.must_hear = true;
      all.push_back(&m);
    }
    for (int p = 0; p < partitions_ && !all.empty(); ++p)
      all[static_cast<std::size_t>(p) * all.size() / static_cast<std::size_t>(partitions_)]
          ->partitions.push_back(p);
  }

  struct Open {
    std::string instance;
    std::set<std::pair<Topic, int>> places;
    std::map<int, Committed> offsets;
  };

  int partitions_;
  // Where they lie does not change when others are added: readers hold pointers.
  std::map<int, std::deque<Stored>> input_;
  std::map<std::pair<Topic, int>, std::deque<Stored>> topics_;
  std::map<int, Committed> offsets_;
  std::map<int, Open> open_;
  std::set<int> aborted_;
  int transactions_ = 0;
  std::map<std::string, int> epochs_;  // of producers
  std::map<std::string, Member> members_;
  int generation_ = 0;
  bool rebalancing_ = false;
  mutable std::recursive_mutex mutex_;  // of all above
};

class MemoryLog : public Log {
 public:
  MemoryLog(MemoryBroker& broker, std::string instance)
      : broker_(broker), instance_(std::move(instance)) {
    const std::lock_guard lock(broker_.mutex_);
    broker_.abort_of(instance_);
    epoch_ = ++broker_.epochs_[instance_];
  }

  int partitions() const override { return broker_.partitions_; }

  void join(GroupListener& listener) override {
    const auto lock = step("join");
    listener_ = &listener;
    const bool was_there = broker_.members_.contains(instance_);
    auto& me = broker_.members_[instance_];
    me.epoch = epoch_;
    me.must_revoke = false;  // it has nothing
    if (was_there)
      me.must_hear = !broker_.rebalancing_;  // static: the same again, without a rebalance
    else
      broker_.begin_rebalance();
    me.must_revoke = false;
    broker_.go_on_rebalancing();
  }

  void poll_group() override {
    auto lock = step("poll_group");
    const auto tell = [&](void (GroupListener::*event)(std::span<const int>)) {
      if (heard_.empty()) return;
      const auto partitions = std::exchange(heard_, {});
      lock.unlock();  // transactions go on meanwhile
      (listener_->*event)(partitions);
      lock.lock();
    };
    auto found = broker_.members_.find(instance_);
    if (found != broker_.members_.end() && found->second.epoch != epoch_)
      throw Fenced("another process is " + instance_);
    if (found == broker_.members_.end()) {
      tell(&GroupListener::lost);
      throw MembershipLost("not a member any more");
    }
    if (found->second.must_revoke) {
      tell(&GroupListener::revoked);
      found = broker_.members_.find(instance_);
      if (found == broker_.members_.end()) return;
      found->second.must_revoke = false;
      broker_.go_on_rebalancing();
    }
    if (!found->second.must_hear) return;
    found->second.must_hear = false;
    heard_ = found->second.partitions;
    generation_ = broker_.generation_;
    const auto given = heard_;
    lock.unlock();
    if (!given.empty()) listener_->assigned(given);
  }

  void close() override {
    auto lock = step("close");
    lock.unlock();
    if (!heard_.empty()) listener_->revoked(std::exchange(heard_, {}));
    lock.lock();
    broker_.members_.erase(instance_);
    broker_.begin_rebalance();
  }

  std::shared_ptr<const Membership> membership() override {
    auto m = std::make_shared<Generation>();
    m->generation = generation_;
    return m;
  }

  std::map<int, std::optional<Committed>> committed(std::span<const int> partitions) override {
    const auto lock = step("committed");
    std::map<int, std::optional<Committed>> result;
    for (const int p : partitions) {
      const bool unstable = std::ranges::any_of(
          broker_.open_, [&](const auto& open) { return open.second.offsets.contains(p); });
      if (!unstable) result[p] = broker_.progress(p);
    }
    return result;
  }

  void start_inputs(int partition, Offset from) override {
    inputs_[partition] = std::max<Offset>(0, from);
  }
  void stop_inputs(int partition) override { inputs_.erase(partition); }
  std::span<const Input> poll_inputs(std::size_t most, Milliseconds) override {
    const auto lock = step("poll_inputs");
    read_.clear();
    for (auto& [p, next] : inputs_) {
      const auto& log = broker_.input_[p];
      for (std::size_t k = 0;
           k < std::min<std::size_t>(most, at_once) && next < static_cast<Offset>(log.size());
           ++k) {
        const MemoryBroker::Stored& s = log[static_cast<std::size_t>(next)];
        Input input{.partition = p, .offset = next};
        if (s.key) input.key = *s.key;
        if (s.value) input.value = *s.value;
        for (const Header& h : s.headers) input.is_import |= h.name == import_header;
        read_.push_back(input);
        ++next;
      }
    }
    return read_;
  }
  std::optional<Offset> lag(int partition, Offset from) override {
    const std::lock_guard lock(broker_.mutex_);
    return static_cast<Offset>(broker_.input_[partition].size()) - std::max<Offset>(0, from);
  }

  void start_state(int partition, Offset from) override {
    states_[partition] = std::max<Offset>(0, from);
  }
  void stop_state(int partition) override { states_.erase(partition); }
  std::span<const StateRecord> poll_state(std::size_t, Milliseconds) override {
    const auto lock = step("poll_state");
    state_read_.clear();
    for (auto& [p, next] : states_) {
      std::size_t count = 0;
      const Offset end = broker_.end(Topic::state, p);
      for (const auto& [offset, s] : broker_.committed(Topic::state, p)) {
        if (offset < next || count == at_once) continue;
        ++count;
        StateRecord record{.partition = p, .offset = offset, .key = *s->key};
        if (s->value) record.value = *s->value;
        for (const Header& h : s->headers) record.headers.emplace_back(h.name, h.value);
        state_read_.push_back(record);
        next = offset + 1;
      }
      if (count < at_once) state_read_.push_back({.partition = p, .offset = end, .is_end = true});
    }
    for (const StateRecord& record : state_read_) heard_state(record);
    return state_read_;
  }

  void begin() override {
    const auto lock = transaction_step("begin");
    transaction_ = ++broker_.transactions_;
    if (broker_.has_transactions) broker_.open_[transaction_].instance = instance_;
    state_.clear();
  }
  void produce(const Message& m) override {
    const auto lock = transaction_step("produce");
    auto& log = broker_.topics_[{m.topic, m.partition}];
    log.push_back({m.key, m.value, m.headers, transaction_});
    if (broker_.has_transactions) broker_.open_[transaction_].places.insert({m.topic, m.partition});
    if (m.topic == Topic::state) state_[m.partition] = static_cast<Offset>(log.size()) - 1;
  }
  std::map<int, Offset> flush() override {
    const auto lock = transaction_step("flush");
    return state_;
  }
  void send_offsets(const std::map<int, Committed>& offsets, const Membership& m) override {
    const auto lock = transaction_step("send_offsets");
    if (!broker_.has_transactions) {
      for (const auto& [p, c] : offsets) broker_.offsets_[p] = c;
      return;
    }
    const auto me = broker_.members_.find(instance_);
    if (me == broker_.members_.end() || me->second.epoch != epoch_ ||
        dynamic_cast<const Generation&>(m).generation != broker_.generation_) {
      broker_.end_transaction(transaction_, false);
      throw MembershipLost("these offsets are of another generation");
    }
    for (const auto& [p, c] : offsets) broker_.open_[transaction_].offsets[p] = c;
  }
  void commit() override {
    const auto lock = transaction_step("commit");
    broker_.end_transaction(transaction_, true);
  }
  void abort() override {
    const auto lock = transaction_step("abort");
    broker_.end_transaction(transaction_, false);
  }

  std::function<void(const StateRecord&)> heard_state = [](const StateRecord&) {};
  std::size_t at_once = 3;  // of a partition's records, for many small steps

 private:
  struct Generation final : Membership {
    int generation = 0;
  };

  std::unique_lock<std::recursive_mutex> step(const std::string& name) {
    std::unique_lock lock(broker_.mutex_);
    broker_.before_step(instance_ + ' ' + name);
    return lock;
  }
  std::unique_lock<std::recursive_mutex> transaction_step(const std::string& name) {
    auto lock = step(name);
    if (broker_.has_transactions && broker_.epochs_[instance_] != epoch_)
      throw Fenced("another process is " + instance_);
    return lock;
  }

  MemoryBroker& broker_;
  std::string instance_;
  int epoch_ = 0;
  GroupListener* listener_ = nullptr;
  std::vector<int> heard_;  // partitions the listener knows of
  int generation_ = 0;
  std::map<int, Offset> inputs_, states_;
  std::vector<Input> read_;
  std::vector<StateRecord> state_read_;
  int transaction_ = 0;
  std::map<int, Offset> state_;
};

}  // namespace kalstream::fleet
