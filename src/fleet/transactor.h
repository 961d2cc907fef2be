// Commits batches, one after the other, beside the work.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "fleet/log.h"
#include "fleet/progress.h"

namespace kalstream::fleet {

/// What one transaction writes. It does not change any more once it is given away: if the
/// transaction is aborted, the next one writes the same.
struct Batch {
  std::vector<Message> messages;
  std::map<int, Progress> progress;  ///< by partition; state_upto is filled in when it is known
  std::shared_ptr<const Membership> membership;  ///< while the messages were made

  bool empty() const { return messages.empty() && progress.empty(); }
};

/// What has been committed, when it has.
using WhenCommitted = std::function<void(Batch batch)>;

/// Takes a batch at a time. Whoever gives them fills the next one meanwhile.
class Transactor {
 public:
  /// Without a thread of its own each batch is committed when it is given: for tests.
  Transactor(Log& log, bool has_thread, WhenCommitted when_committed = nullptr);
  /// Leaves what is under way to itself: the broker will abort it.
  ~Transactor();
  Transactor(const Transactor&) = delete;
  Transactor& operator=(const Transactor&) = delete;

  /// These two, and give(), throw what has ended all commits: MembershipLost, Fenced and others.
  bool is_idle();
  bool wait_until_idle(Milliseconds most);

  void give(Batch batch);  ///< when idle

  /// Where the snapshots of a partition end that is taken over.
  void set_state_upto(int partition, Offset offset);
  /// As it was committed last by this one, since set_state_upto().
  std::optional<Progress> committed(int partition);

  struct Counts {
    std::uint64_t transactions = 0;
    std::uint64_t aborts = 0;
    std::uint64_t state_bytes = 0;
    double seconds = 0;  ///< that the last one took
  };
  Counts counts();
  /// Why the last transaction was aborted, and will be tried again; empty: it was not.
  std::string failure();

 private:
  void run();
  void commit(Batch& batch);
  void try_to_commit(Batch& batch);
  void abort();
  void pause(Milliseconds time);
  void rethrow() const;

  Log& log_;
  WhenCommitted when_committed_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::optional<Batch> batch_;  // to be committed, or under way
  std::exception_ptr error_;
  bool stop_ = false;
  std::map<int, Offset> state_upto_;
  std::map<int, Progress> committed_;
  Counts counts_;
  std::string failure_;
  std::thread thread_;
};

}  // namespace kalstream::fleet
