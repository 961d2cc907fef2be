#include "fleet/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "kalstream/version.h"
#include "monitor/status.h"
#include "stores/database.h"

namespace kalstream::fleet {

using namespace std::chrono_literals;

namespace {

// Of a batch, which its transaction has to bring to the broker in little time.
constexpr std::size_t most_messages = 20'000;
constexpr std::size_t most_bytes = std::size_t{16} << 20;
constexpr std::size_t most_snapshot_bytes = std::size_t{8} << 20;
constexpr std::size_t inputs_at_once = 500;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

const char* name_of(Shard::Phase phase) {
  constexpr std::array names{"snapshots", "replay", "live"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace

Worker::Worker(WorkerOptions options, Log& log)
    : options_(std::move(options)),
      log_(log),
      program_bytes_(resident_bytes()),
      transactor_(log, options_.has_thread) {
  options_.shard.engine.memory = options_.memory;
  options_.shard.engine.max_models = std::numeric_limits<std::size_t>::max();
  log_.join(*this);
}

Worker::~Worker() = default;

Shard* Worker::live(int partition) {
  const auto found = held_.find(partition);
  const bool is_live = found != held_.end() && found->second.shard->phase() == Shard::Phase::live;
  return is_live ? found->second.shard.get() : nullptr;
}

bool Worker::is_restoring() const {
  return !waiting_.empty() || std::ranges::any_of(held_, [](const auto& h) {
    return h.second.shard->phase() != Shard::Phase::live;
  });
}

void Worker::step(Milliseconds most) {
  log_.poll_group();
  if (lost_)
    throw MembershipLost(
        "the group has given this worker's partitions to others: it was silent for too long");
  look_after_waiting();
  const bool reading = std::ranges::any_of(
      held_, [](const auto& h) { return h.second.shard->phase() == Shard::Phase::snapshots; });
  const bool taking = std::ranges::any_of(
      held_, [](const auto& h) { return h.second.shard->phase() != Shard::Phase::snapshots; });
  if (reading) read_state(taking ? 0ms : most);
  if (is_full() && !transactor_.is_idle())
    transactor_.wait_until_idle(most);
  else
    take_inputs(reading ? std::min(most, 1ms) : most);
  look_at_clock();
  if (is_due() && transactor_.is_idle()) {
    add_snapshots();
    give();
  }
}

void Worker::finish() {
  closing_ = true;
  commit_all();
  const auto is_open = [](Shard& shard) {
    return shard.progress().replay_from < shard.progress().offset;
  };
  for (auto& [partition, held] : held_)
    while (held.shard->phase() == Shard::Phase::live && is_open(*held.shard)) {
      try {
        held.shard->add_all_snapshots(most_snapshot_bytes, batch_.messages);
      } catch (const StoreError& error) {
        options_.shard.say(
            fmt::format("no snapshot of all models of partition {}: {}", partition, error.what()));
        break;
      }
      commit_all();
    }
  commit_all();
  log_.close();
}

// ---- Partitions that come and go.

void Worker::assigned(std::span<const int> partitions) {
  if (closing_) return;
  waiting_.insert(partitions.begin(), partitions.end());
}

void Worker::revoked(std::span<const int> partitions) {
  const auto goes = [&](int p) { return std::ranges::find(partitions, p) != partitions.end(); };
  if (std::ranges::any_of(held_, [&](const auto& h) { return goes(h.first); })) commit_all();
  for (const int p : partitions) {
    waiting_.erase(p);
    auto held = held_.extract(p);
    if (held.empty()) continue;
    Held& h = held.mapped();
    if (h.shard->phase() == Shard::Phase::snapshots)
      log_.stop_state(p);
    else
      log_.stop_inputs(p);
    if (h.shard->phase() != Shard::Phase::live) continue;
    if (const auto committed = transactor_.committed(p)) h.committed = committed;
    resting_.insert(std::move(held));
  }
}

void Worker::lost(std::span<const int> partitions) { lost_ = lost_ || !partitions.empty(); }

void Worker::look_after_waiting() {
  if (waiting_.empty()) return;
  const std::vector<int> partitions(waiting_.begin(), waiting_.end());
  for (const auto& [p, committed] : log_.committed(partitions)) {
    waiting_.erase(p);
    std::optional<Progress> progress;
    if (committed) progress = progress_of(*committed);
    auto rested = resting_.extract(p);
    if (!rested.empty() && rested.mapped().committed == progress) {
      Held& held = held_.insert(std::move(rested)).position->second;
      log_.start_inputs(p, held.shard->next());
    } else {
      restore(p, progress);
    }
  }
  if (waiting_.empty()) resting_.clear();  // the others have them
}

void Worker::restore(int p, const std::optional<Progress>& committed) {
  Held held;
  held.store = std::make_unique<SpillStore>(options_.spill / fmt::format("spill-{}.db", p));
  held.shard = std::make_unique<Shard>(p, options_.shard, *held.store, committed);
  held.committed = committed;
  transactor_.set_state_upto(p, committed ? committed->state_upto : -1);
  Held& kept = held_.insert_or_assign(p, std::move(held)).first->second;
  share_memory();
  if (kept.shard->phase() == Shard::Phase::snapshots)
    log_.start_state(p, beginning);
  else
    end_state(kept);
}

void Worker::read_state(Milliseconds most) {
  for (const StateRecord& record : log_.poll_state(inputs_at_once, most)) {
    const auto found = held_.find(record.partition);
    if (found == held_.end()) continue;
    Held& held = found->second;
    if (held.shard->phase() != Shard::Phase::snapshots) continue;
    const Offset last = held.committed->state_upto;
    if (!record.is_end && record.offset <= last) held.shard->take_snapshot(record);
    const Offset read_upto = record.is_end ? record.offset - 1 : record.offset;
    if (read_upto < last) continue;
    log_.stop_state(record.partition);
    held.shard->end_snapshots();
    end_state(held);
  }
}

void Worker::end_state(Held& held) {
  log_.start_inputs(held.shard->partition(), held.shard->next());
  if (held.shard->phase() == Shard::Phase::live) became_live(held);
}

void Worker::became_live(Held& held) {
  ++restores_;
  restore_seconds_ = seconds(Clock::now() - held.since);
  replayed_ += held.shard->replayed();
  held.shard->set_snapshot_every(snapshot_every_of(*held.shard));
  if (held.shard->replayed() > 0 || held.shard->models() > 0)
    options_.shard.say(fmt::format(
        "partition {}: {} models restored, {} inputs taken again, {:.2f} s",
        held.shard->partition(), held.shard->models(), held.shard->replayed(), restore_seconds_));
}

// A model that cannot be had from the disk is in the log as well.
void Worker::restart(int partition, const std::string& why) {
  options_.shard.say(fmt::format("partition {} is restored: {}", partition, why));
  commit_all();
  log_.stop_inputs(partition);
  held_.erase(partition);
  waiting_.insert(partition);
}

// ---- Inputs.

void Worker::take_inputs(Milliseconds most) {
  const bool is_idle = waiting_.empty() && batch_.empty() && !held_.empty();
  const Milliseconds wait = is_idle ? most : std::min(most, 5ms);
  const auto inputs = log_.poll_inputs(inputs_at_once, wait);
  if (inputs.empty()) return;
  auto before = Clock::now();
  const auto begin = before;
  for (const Input& input : inputs) {
    const auto found = held_.find(input.partition);
    if (found == held_.end() || input.offset < found->second.shard->next()) continue;
    Held& held = found->second;
    const bool was_live = held.shard->phase() == Shard::Phase::live;
    if (was_live && batch_.empty()) batch_begun_ = before;
    try {
      held.shard->take(input, batch_.messages);
    } catch (const StoreError& error) {
      restart(input.partition, error.what());
      continue;
    }
    const auto now = Clock::now();
    const double took = seconds(now - before);
    before = now;
    if (!was_live && held.shard->phase() == Shard::Phase::live) became_live(held);
    if (!was_live) continue;
    ++inputs_;
    work_.record(took);
    remember_slow(*held.shard, input.key.value_or(""), took);
  }
  const double each = seconds(before - begin) / static_cast<double>(inputs.size());
  const double weight = std::min(1.0, static_cast<double>(inputs.size()) / 10'000);
  seconds_per_input_ =
      seconds_per_input_ == 0 ? each : seconds_per_input_ + weight * (each - seconds_per_input_);
}

void Worker::remember_slow(const Shard&, std::string_view key, double took) {
  constexpr std::size_t enough = 5;
  if (slow_.size() == enough && took <= slow_.back().seconds) return;
  const auto same = std::ranges::find(slow_, key, &SlowKey::key);
  if (same != slow_.end())
    same->seconds = std::max(same->seconds, took);
  else
    slow_.push_back({std::string(key), took});
  std::ranges::sort(slow_, std::greater{}, &SlowKey::seconds);
  if (slow_.size() > enough) slow_.pop_back();
}

// ---- Transactions.

bool Worker::is_full() const {
  return batch_.messages.size() >= most_messages || batch_bytes_ >= most_bytes;
}

bool Worker::is_due() const {
  return !batch_.empty() && (is_full() || Clock::now() - batch_begun_ >= options_.transaction);
}

void Worker::add_snapshots() {
  std::size_t left = most_snapshot_bytes;
  std::vector<std::pair<int, std::string>> broken;
  for (auto& [partition, held] : held_) {
    if (held.shard->phase() != Shard::Phase::live || left == 0) continue;
    try {
      left -= std::min(left, held.shard->add_due_snapshots(left, batch_.messages));
    } catch (const StoreError& error) {
      broken.emplace_back(partition, error.what());
    }
  }
  for (const auto& [partition, why] : broken) restart(partition, why);
}

void Worker::fill_progress() {
  for (auto& [partition, held] : held_) {
    if (held.shard->phase() != Shard::Phase::live) continue;
    Progress now = held.shard->progress();
    if (now.offset < 0 || now == held.given) continue;
    if (held.committed && held.given.engine.empty() && now.offset == held.committed->offset &&
        now.replay_from == held.committed->replay_from && now.checksum == held.committed->checksum)
      continue;  // nothing has come since it was restored
    held.given = now;
    batch_.progress[partition] = std::move(now);
  }
}

void Worker::give() {
  fill_progress();
  if (batch_.empty()) return;
  batch_.membership = log_.membership();
  for (const Message& m : batch_.messages) {
    refused_ += m.topic == Topic::dead ? 1 : 0;
    snapshots_ += m.topic == Topic::state && m.value ? 1 : 0;
  }
  transactor_.give(std::exchange(batch_, {}));
  batch_bytes_ = counted_ = 0;
}

void Worker::commit_all() {
  transactor_.wait_until_idle();
  give();
  transactor_.wait_until_idle();
}

// ---- Now and then.

void Worker::look_at_clock() {
  for (; counted_ < batch_.messages.size(); ++counted_) {
    const Message& m = batch_.messages[counted_];
    batch_bytes_ += (m.value ? m.value->size() : 0) + 200;
  }
  const auto now = Clock::now();
  if (now - last_look_ >= 100ms) {
    last_look_ = now;
    share_memory();
    if (const std::string failure = transactor_.failure(); failure != told_failure_) {
      told_failure_ = failure;
      if (!failure.empty()) options_.shard.say("a transaction is tried again: " + failure);
    }
  }
  if (now - last_told_ < 1s) return;
  inputs_per_second_ = static_cast<double>(inputs_ - inputs_told_) / seconds(now - last_told_);
  inputs_told_ = inputs_;
  last_told_ = now;
  for (auto& [partition, held] : held_)
    held.shard->set_snapshot_every(snapshot_every_of(*held.shard));
  tell_status();
  slow_.clear();
}

// All partitions share what there is: to each of them the others are beside.
void Worker::share_memory() {
  std::uint64_t all = program_bytes_ + database_memory();
  for (const auto* those : {&held_, &resting_})
    for (const auto& [partition, held] : *those) all += held.shard->memory();
  for (auto& [partition, held] : held_) held.shard->set_memory_beside(all - held.shard->memory());
}

// The time to take inputs again is that of all partitions; few snapshots are cheap, and less than
// one for 40 inputs of a model would be a waste.
Offset Worker::snapshot_every_of(const Shard& shard) const {
  if (options_.snapshot_every) return *options_.snapshot_every;
  constexpr double at_least = 40;
  constexpr double at_most = 1000;
  const double models = std::max(1.0, static_cast<double>(shard.models()));
  const double partitions = std::max(1.0, static_cast<double>(held_.size()));
  double inputs = at_most * models;
  if (seconds_per_input_ > 0)
    inputs = std::min(inputs, options_.recovery_seconds / seconds_per_input_ / partitions);
  return static_cast<Offset>(std::max(inputs, at_least * models));
}

void Worker::tell_status() {
  if (batch_.empty()) batch_begun_ = Clock::now();
  batch_.messages.push_back({.topic = Topic::workers,
                             .partition = 0,
                             .key = options_.instance,
                             .value = to_json(status())});
}

WorkerStatus Worker::status() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const Transactor::Counts counts = transactor_.counts();
  WorkerStatus s;
  s.instance = options_.instance;
  s.host = host.data();
  s.version = version();
  s.engine = engine_identity();
  s.pid = ::getpid();
  s.time_ms =
      std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  s.uptime_seconds = seconds(Clock::now() - started_);
  for (const int p : waiting_) s.partitions.push_back({.partition = p, .phase = "waiting"});
  std::uint64_t memory = program_bytes_ + database_memory();
  for (const auto& [p, held] : held_) {
    s.partitions.push_back({.partition = p,
                            .phase = name_of(held.shard->phase()),
                            .next = std::max<Offset>(0, held.shard->next()),
                            .lag = log_.lag(p, held.shard->next()),
                            .to_replay = held.shard->to_replay(),
                            .models = held.shard->models()});
    s.models += held.shard->models();
    if (const Models* models = held.shard->engine().models())
      s.models_in_memory += models->in_memory();
    memory += held.shard->memory();
  }
  std::ranges::sort(s.partitions, {}, &PartitionStatus::partition);
  s.slowest = slow_;
  s.inputs = inputs_;
  s.refused = refused_;
  s.inputs_per_second = inputs_per_second_;
  s.replayed = replayed_;
  s.restores = restores_;
  s.restore_seconds = restore_seconds_;
  s.transactions = counts.transactions;
  s.aborts = counts.aborts;
  s.transaction_seconds = counts.seconds;
  s.snapshots = snapshots_;
  s.state_bytes = counts.state_bytes;
  s.memory_bytes = memory;
  s.resident_bytes = resident_bytes();
  s.work = work_.summary();
  return s;
}

}  // namespace kalstream::fleet
