// One of a fleet's equal workers: takes the partitions that the group gives it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/workers.h"
#include "fleet/log.h"
#include "fleet/shard.h"
#include "fleet/snapshot_cache.h"
#include "fleet/transactor.h"
#include "fleet/worker_status.h"
#include "stores/spill.h"

namespace kalstream::fleet {

struct WorkerOptions {
  ShardOptions shard;
  std::string instance;
  Milliseconds transaction{100};
  /// Inputs of a partition between two snapshots of a model; nothing: as few as keep the time to
  /// take inputs again within recovery_seconds, but at least so many that it costs little.
  std::optional<Offset> snapshot_every;
  double recovery_seconds = 1;
  std::uint64_t memory = ModelLimits::none;  ///< of all partitions
  std::filesystem::path spill;               ///< folder for models that do not fit
  SnapshotCache* cache = nullptr;            ///< of snapshots, on the local disk; may be nullptr
  System* system = &System::real();          ///< of the spill
  bool has_thread = true;                    ///< for transactions
  std::size_t jobs = 1;                      ///< threads that share the models
  /// Whether it has been told to stop: asked while it waits for a broker, for which it then has so
  /// much patience.
  std::function<bool()> stop = [] { return false; };
  Milliseconds patience{20'000};
};

/// Answers each input once: answers, offsets and due snapshots are committed together. What it
/// holds that is not committed is worth nothing: when something goes wrong it is thrown away, and a
/// new worker begins with what is committed.
class Worker final : private GroupListener {
 public:
  /// Joins the group.
  Worker(WorkerOptions options, Log& log);
  ~Worker() override;

  /// Some work, waiting for it no longer than so. Throws MembershipLost (begin anew), Fenced (leave
  /// off), ReplayDiffers, DataError, InputsGone and other std::runtime_errors.
  void step(Milliseconds most);
  /// Hands over in order: snapshots of all models that have changed, then leaves the group.
  void finish();

  WorkerStatus status();
  /// The models of a partition; nullptr if it is not this worker's, or not live yet.
  Shard* live(int partition);

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr Offset inputs_at_once = 500;
  // Also where few inputs come, which would be deleted some day.
  static constexpr std::chrono::minutes snapshots_at_least_every{5};

  struct Held {
    std::unique_ptr<SpillStore> store;  // of the shard
    std::unique_ptr<Shard> shard;
    std::optional<Progress> committed;  // when it was restored, or left to rest
    Progress given;                     // to the transactor last
    // Inputs before this one shall be in snapshots before long; and when others shall be.
    Offset snapshots_before = 0;
    Clock::time_point next_snapshots = Clock::now() + snapshots_at_least_every;
    bool by_cache = false;                // restored by way of it
    std::map<std::string, Message> news;  // for the cache: read from the topic of states
    Clock::time_point since = Clock::now();
  };

  // Partitions that come and go (worker_partitions.cc).
  void assigned(std::span<const int> partitions) override;
  void revoked(std::span<const int> partitions) override;
  void lost(std::span<const int> partitions) override;
  void look_after_waiting();
  void restore(int partition, const std::optional<Progress>& committed, bool by_cache);
  void restore_without_cache(int partition, const std::string& why);
  void keep(Batch batch);
  void read_state(Milliseconds most);
  void end_state(int partition);
  void became_live(Held& held);
  void restart(int partition, const std::string& why);

  void take_inputs(Milliseconds most);
  void take_inputs_of(int partition, std::span<const Input> inputs);
  bool is_full() const { return is_full_ || is_behind_; }
  bool is_due() const;
  void add_snapshots();
  void fill_progress();
  void give();
  void commit_all();
  void wait_for_transaction();
  void look_at_clock();
  std::uint64_t memory_beside_models() const;
  void share_memory();
  void tell_status();
  Offset snapshot_every_of(const Shard& shard) const;

  WorkerOptions options_;
  Log& log_;
  std::map<int, Held> held_;
  std::map<int, Held> resting_;  // revoked, and maybe soon given back
  std::set<int> waiting_;        // assigned, what is committed is not known yet
  bool lost_ = false;
  bool closing_ = false;
  Batch batch_;
  std::size_t batch_bytes_ = 0;
  std::size_t counted_ = 0;  // of its messages
  Clock::time_point batch_begun_;
  bool is_full_ = false;
  bool is_behind_ = false;  // snapshots are due that the last batch had no room for

  const std::uint64_t program_bytes_;
  Clock::time_point last_look_ = Clock::now();
  Tally tally_;
  std::string told_failure_;
  std::unique_ptr<Workers> workers_;  // if there are several
  std::vector<Input> inputs_by_partition_;
  Transactor transactor_;  // last: its thread uses the log
};

}  // namespace kalstream::fleet
