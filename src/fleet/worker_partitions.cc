// How a worker's partitions come and go.
#include <fmt/format.h>

#include <algorithm>

#include "fleet/worker.h"

namespace kalstream::fleet {

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
  const double took = seconds(Clock::now() - held.since);
  tally_.count_restore(took, held.shard->replayed());
  held.shard->set_snapshot_every(snapshot_every_of(*held.shard));
  if (held.shard->replayed() > 0 || held.shard->models() > 0)
    options_.shard.say(
        fmt::format("partition {}: {} models restored, {} inputs taken again, {:.2f} s",
                    held.shard->partition(), held.shard->models(), held.shard->replayed(), took));
}

// A model that cannot be had from the disk is in the log as well.
void Worker::restart(int partition, const std::string& why) {
  options_.shard.say(fmt::format("partition {} is restored: {}", partition, why));
  commit_all();
  log_.stop_inputs(partition);
  held_.erase(partition);
  waiting_.insert(partition);
}

}  // namespace kalstream::fleet
