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
constexpr Offset inputs_at_once = 500;

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
      transactor_(log, options_.has_thread, [this](Batch batch) { keep(std::move(batch)); }) {
  const std::size_t threads = workers_for(options_.jobs, options_.jobs);
  if (threads > 1) workers_ = std::make_unique<Workers>(threads);
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
  if (is_full())
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
        held.shard->add_snapshots_of_those_before(held.shard->next(), most_snapshot_bytes,
                                                  batch_.messages);
      } catch (const StoreError& error) {
        options_.shard.say(
            fmt::format("no snapshot of all models of partition {}: {}", partition, error.what()));
        break;
      }
      commit_all();
    }
  batch_.messages.push_back({.topic = Topic::workers, .key = options_.instance});  // its last word
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
      restore(p, progress, /*by_cache=*/true);
    }
  }
  if (waiting_.empty()) resting_.clear();  // the others have them
}

void Worker::restore(int p, const std::optional<Progress>& committed, bool by_cache) {
  by_cache = by_cache && options_.cache != nullptr && committed && committed->state_upto >= 0;
  ShardOptions options = options_.shard;
  if (by_cache) options.accept_replay = false;  // there is another way
  Held held;
  held.store = std::make_unique<SpillStore>(options_.spill / fmt::format("spill-{}.db", p),
                                            *options_.system);
  held.shard = std::make_unique<Shard>(p, options, *held.store, committed);
  held.committed = committed;
  held.by_cache = by_cache;
  Offset from = beginning;
  if (by_cache) {
    const auto upto = options_.cache->read(
        p, committed->state_upto, [&](const StateRecord& r) { held.shard->take_snapshot(r); });
    if (!upto) return restore(p, committed, false);
    from = *upto + 1;
  }
  transactor_.set_state_upto(p, committed ? committed->state_upto : -1);
  Held& kept = held_.insert_or_assign(p, std::move(held)).first->second;
  share_memory();
  if (kept.shard->phase() != Shard::Phase::snapshots || from > committed->state_upto)
    end_state(p);
  else
    log_.start_state(p, from);
}

void Worker::restore_without_cache(int p, const std::string& why) {
  options_.cache->discard(p, why);
  const auto committed = held_.at(p).committed;
  log_.stop_inputs(p);
  held_.erase(p);
  restore(p, committed, false);
}

void Worker::read_state(Milliseconds most) {
  for (const StateRecord& record : log_.poll_state(std::size_t{inputs_at_once}, most)) {
    const auto found = held_.find(record.partition);
    if (found == held_.end()) continue;
    Held& held = found->second;
    if (held.shard->phase() != Shard::Phase::snapshots) continue;
    const Offset last = held.committed->state_upto;
    if (!record.is_end && record.offset <= last) {
      held.shard->take_snapshot(record);
      if (options_.cache != nullptr) {
        Message news{.topic = Topic::state, .key = std::string(record.key)};
        if (record.value) news.value = std::string(*record.value);
        for (const auto& [name, value] : record.headers)
          news.headers.push_back({std::string(name), std::string(value)});
        held.news.insert_or_assign(std::string(record.key), std::move(news));
      }
    }
    const Offset read_upto = record.is_end ? record.offset - 1 : record.offset;
    if (read_upto < last) continue;
    log_.stop_state(record.partition);
    end_state(record.partition);
  }
}

void Worker::end_state(int p) {
  Held& held = held_.at(p);
  try {
    if (held.shard->phase() == Shard::Phase::snapshots) held.shard->end_snapshots();
  } catch (const DataError& error) {
    if (!held.by_cache) throw;
    return restore_without_cache(p, error.what());
  }
  if (options_.cache != nullptr && !held.news.empty()) {
    std::vector<Message> news;
    for (auto& [key, message] : held.news) news.push_back(std::move(message));
    held.news.clear();
    options_.cache->add(p, std::move(news), held.committed->state_upto);
  }
  log_.start_inputs(p, held.shard->next());
  if (held.shard->phase() == Shard::Phase::live) became_live(held);
}

// In the thread that commits.
void Worker::keep(Batch batch) {
  if (options_.cache == nullptr) return;
  std::map<int, std::vector<Message>> states;
  for (Message& m : batch.messages)
    if (m.topic == Topic::state) states[m.partition].push_back(std::move(m));
  for (auto& [partition, these] : states)
    options_.cache->add(partition, std::move(these), batch.progress.at(partition).state_upto);
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
  std::span<const Input> inputs = log_.poll_inputs(std::size_t{inputs_at_once}, wait);
  if (inputs.empty()) return;
  const auto begin = Clock::now();
  if (workers_) {  // those of a partition together, in their order
    inputs_by_partition_.assign(inputs.begin(), inputs.end());
    std::ranges::stable_sort(inputs_by_partition_, {}, &Input::partition);
    inputs = inputs_by_partition_;
  }
  for (std::size_t done = 0; done < inputs.size();) {
    const auto is_of_another = [&](const Input& i) {
      return i.partition != inputs[done].partition;
    };
    const auto rest = inputs.subspan(done);
    const auto ends = std::ranges::find_if(rest, is_of_another);
    const auto count = workers_ ? static_cast<std::size_t>(ends - rest.begin()) : 1;
    take_inputs_of(inputs[done].partition, rest.first(count));
    done += count;
  }
  const double took = seconds(Clock::now() - begin);
  busy_seconds_ += took;
  const double each = took / static_cast<double>(inputs.size());
  const double weight = std::min(1.0, static_cast<double>(inputs.size()) / 10'000);
  seconds_per_input_ =
      seconds_per_input_ == 0 ? each : seconds_per_input_ + weight * (each - seconds_per_input_);
}

void Worker::take_inputs_of(int partition, std::span<const Input> inputs) {
  while (!inputs.empty()) {
    const auto found = held_.find(partition);
    if (found == held_.end()) return;
    Held& held = found->second;
    if (inputs.front().offset < held.shard->next()) {
      inputs = inputs.subspan(1);
      continue;
    }
    const auto before = Clock::now();
    const bool was_live = held.shard->phase() == Shard::Phase::live;
    if (was_live && batch_.empty()) batch_begun_ = before;
    std::size_t count = 1;
    try {
      if (workers_)
        count = held.shard->take_many(inputs, batch_.messages, *workers_);
      else
        held.shard->take(inputs.front(), batch_.messages);
    } catch (const StoreError& error) {
      return restart(partition, error.what());
    } catch (const ReplayDiffers& error) {
      if (!held.by_cache) throw;
      return restore_without_cache(partition, error.what());
    }
    const double took = seconds(Clock::now() - before) / static_cast<double>(count);
    if (!was_live && held.shard->phase() == Shard::Phase::live) became_live(held);
    const auto taken = inputs.first(count);
    inputs = inputs.subspan(count);
    if (!was_live) continue;
    // What has to be taken again after a crash is bounded by what is taken between two snapshots.
    const Offset since = held.shard->next() - std::max<Offset>(0, held.given.offset);
    is_full_ = is_full_ || (since >= held.shard->snapshot_every() / 2 && since >= inputs_at_once);
    inputs_ += count;
    for (const Input& input : taken) {
      work_.record(took);
      remember_slow(input.key.value_or(""), took);
    }
  }
}

void Worker::remember_slow(std::string_view key, double took) {
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

bool Worker::is_due() const {
  return is_full() || (!batch_.empty() && Clock::now() - batch_begun_ >= options_.transaction);
}

void Worker::add_snapshots() {
  std::size_t left = most_snapshot_bytes;
  std::vector<std::pair<int, std::string>> broken;
  is_behind_ = false;
  for (auto& [partition, held] : held_) {
    if (held.shard->phase() != Shard::Phase::live) continue;
    try {
      left -= std::min(left, held.shard->add_due_snapshots(left, batch_.messages));
      left -= std::min(left, held.shard->add_snapshots_of_those_before(held.snapshots_before, left,
                                                                       batch_.messages));
      is_behind_ = is_behind_ || held.shard->has_due_snapshots();
    } catch (const StoreError& error) {
      broken.emplace_back(partition, error.what());
    }
  }
  for (const auto& [partition, why] : broken) restart(partition, why);
}

// A snapshot counts only once the progress of its partition names it.
void Worker::fill_progress() {
  std::set<int> with_snapshots;
  for (const Message& m : batch_.messages)
    if (m.topic == Topic::state) with_snapshots.insert(m.partition);
  for (auto& [partition, held] : held_) {
    if (held.shard->phase() != Shard::Phase::live) continue;
    Progress now = held.shard->progress();
    const bool must = with_snapshots.contains(partition);
    if (now.offset < 0 || (now == held.given && !must)) continue;
    if (!must && held.committed && held.given.engine.empty() &&
        now.offset == held.committed->offset && now.replay_from == held.committed->replay_from &&
        now.checksum == held.committed->checksum)
      continue;  // nothing has come since it was restored
    held.given = now;
    batch_.progress[partition] = std::move(now);
  }
}

void Worker::give() {
  is_full_ = false;
  fill_progress();
  if (batch_.empty()) return;
  batch_.membership = log_.membership();
  for (const Message& m : batch_.messages) {
    refused_ += m.topic == Topic::dead ? 1 : 0;
    snapshots_ += m.topic == Topic::state && (m.value || m.image) ? 1 : 0;
  }
  transactor_.give(std::exchange(batch_, {}));
  batch_bytes_ = counted_ = 0;
}

// A worker that is told to stop does not wait for a broker that is gone.
void Worker::commit_all() {
  constexpr Milliseconds patience = 20s;
  const auto wait = [&] {
    if (!closing_) return transactor_.wait_until_idle();
    if (!transactor_.wait_until_idle(patience))
      throw std::runtime_error(
          "the last answers could not be committed: the next worker will take their inputs again");
  };
  wait();
  give();
  wait();
}

// ---- Now and then.

void Worker::look_at_clock() {
  for (; counted_ < batch_.messages.size(); ++counted_) {
    const Message& m = batch_.messages[counted_];
    batch_bytes_ += (m.value ? m.value->size() : 0) + 200;
  }
  is_full_ = is_full_ || counted_ >= most_messages || batch_bytes_ >= most_bytes;
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
  is_busy_ = busy_seconds_ > 0.5 * seconds(now - last_told_);
  busy_seconds_ = 0;
  last_told_ = now;
  for (auto& [partition, held] : held_) {
    held.shard->set_snapshot_every(snapshot_every_of(*held.shard));
    if (now < held.next_snapshots) continue;
    held.next_snapshots = now + snapshots_at_least_every;
    held.snapshots_before = std::max<Offset>(0, held.shard->next());
  }
  tell_status();
  slow_.clear();
}

// Messages on their way are counted by nobody.
std::uint64_t Worker::memory_beside_models() const {
  constexpr std::uint64_t enough = std::uint64_t{64} << 20;
  const std::uint64_t messages =
      options_.memory == ModelLimits::none ? 0 : std::min(options_.memory / 5, enough);
  return program_bytes_ + database_memory() + messages;
}

// All partitions share what there is: to each of them the others are beside.
void Worker::share_memory() {
  std::uint64_t all = memory_beside_models();
  for (const auto* those : {&held_, &resting_})
    for (const auto& [partition, held] : *those) all += held.shard->memory();
  for (auto& [partition, held] : held_) held.shard->set_memory_beside(all - held.shard->memory());
}

// The time to take inputs again is that of all partitions. One for less than 40 inputs of a model
// would be a waste; and a worker that is behind has better things to do.
Offset Worker::snapshot_every_of(const Shard& shard) const {
  if (options_.snapshot_every) return *options_.snapshot_every;
  constexpr double at_least = 40;
  constexpr double at_most = 1000;
  constexpr double few = 10'000;
  constexpr double while_busy = 4;
  const auto models = static_cast<double>(shard.models());
  const double partitions = std::max(1.0, static_cast<double>(held_.size()));
  const double recovery = options_.recovery_seconds * (is_busy_ ? while_busy : 1);
  double inputs = std::max(at_most * models, few);
  if (seconds_per_input_ > 0) inputs = std::min(inputs, recovery / seconds_per_input_ / partitions);
  return static_cast<Offset>(std::max({inputs, at_least * models, 1.0}));
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
  std::uint64_t memory = memory_beside_models();
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
