#include "fleet/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "fleet/instance.h"
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

constexpr std::array phase_names{"snapshots", "replay", "live"};

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
  tally_.count_work(inputs.size(), seconds(Clock::now() - begin));
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
      count = held.shard->take(inputs, batch_.messages, workers_.get());
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
    for (const Input& input : taken) tally_.count_answer(input.key.value_or(""), took);
  }
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
  tally_.count_messages(batch_.messages);
  transactor_.give(std::exchange(batch_, {}));
  batch_bytes_ = counted_ = 0;
}

void Worker::commit_all() {
  wait_for_transaction();
  give();
  wait_for_transaction();
}

// A worker that is told to stop does not wait for ever for a broker that is gone.
void Worker::wait_for_transaction() {
  std::optional<Clock::time_point> until;
  while (!transactor_.wait_until_idle(std::min(options_.patience, 100ms))) {
    if (!closing_ && !options_.stop()) continue;
    if (!until) until = Clock::now() + options_.patience;
    if (Clock::now() >= *until)
      throw std::runtime_error(
          "the last answers could not be committed: the next worker will take their inputs again");
  }
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
  if (!tally_.a_second_has_passed()) return;
  for (auto& [partition, held] : held_) {
    held.shard->set_snapshot_every(snapshot_every_of(*held.shard));
    if (now < held.next_snapshots) continue;
    held.next_snapshots = now + snapshots_at_least_every;
    held.snapshots_before = std::max<Offset>(0, held.shard->next());
  }
  tell_status();
  tally_.forget_slow();
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
  const double recovery = options_.recovery_seconds * (tally_.is_busy() ? while_busy : 1);
  double inputs = std::max(at_most * models, few);
  if (const double each = tally_.seconds_per_input(); each > 0)
    inputs = std::min(inputs, recovery / each / partitions);
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
  const Transactor::Counts counts = transactor_.counts();
  WorkerStatus s = tally_.status();
  s.instance = options_.instance;
  s.host = host_name();
  s.version = version();
  s.engine = engine_identity();
  s.pid = ::getpid();
  s.time_ms =
      std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  for (const int p : waiting_) s.partitions.push_back({.partition = p, .phase = "waiting"});
  std::uint64_t memory = memory_beside_models();
  for (const auto& [p, held] : held_) {
    s.partitions.push_back({.partition = p,
                            .phase = phase_names[static_cast<std::size_t>(held.shard->phase())],
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
  s.transactions = counts.transactions;
  s.aborts = counts.aborts;
  s.transaction_seconds = counts.seconds;
  s.state_bytes = counts.state_bytes;
  s.memory_bytes = memory;
  s.resident_bytes = resident_bytes();
  return s;
}

}  // namespace kalstream::fleet
