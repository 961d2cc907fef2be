#include "fleet/transactor.h"

#include <algorithm>

#include "core/envelope.h"
#include "core/quiet_thread.h"

namespace kalstream::fleet {

using namespace std::chrono_literals;

Transactor::Transactor(Log& log, bool has_thread, WhenCommitted when_committed)
    : log_(log), when_committed_(std::move(when_committed)) {
  if (has_thread) thread_ = start_quiet_thread([this] { run(); });
}

Transactor::~Transactor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  log_.give_up();
  thread_.join();
}

void Transactor::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

bool Transactor::is_idle() {
  const std::lock_guard lock(mutex_);
  rethrow();
  return !batch_;
}

bool Transactor::wait_until_idle(Milliseconds most) {
  std::unique_lock lock(mutex_);
  const bool idle = changed_.wait_for(lock, most, [this] { return !batch_ || error_; });
  rethrow();
  return idle;
}

void Transactor::give(Batch batch) {
  {
    const std::lock_guard lock(mutex_);
    rethrow();
    batch_ = std::move(batch);
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  commit(*batch_);
  batch_.reset();
}

void Transactor::set_state_upto(int partition, Offset offset) {
  const std::lock_guard lock(mutex_);
  state_upto_[partition] = offset;
  committed_.erase(partition);
}

std::optional<Progress> Transactor::committed(int partition) {
  const std::lock_guard lock(mutex_);
  const auto found = committed_.find(partition);
  return found == committed_.end() ? std::nullopt : std::optional(found->second);
}

Transactor::Counts Transactor::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string Transactor::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// ---- In its thread.

void Transactor::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || (batch_ && !error_); });
    if (stop_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      commit(*batch_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    if (!error) batch_.reset();
    changed_.notify_all();
  }
}

// The same again until it is done.
void Transactor::commit(Batch& batch) {
  for (Message& m : batch.messages) {
    if (!m.image) continue;
    m.value = std::string(as_text(std::move(*m.image).finish()));
    m.image.reset();
  }
  constexpr Milliseconds longest_pause = 1s;
  for (Milliseconds wait = 10ms;; wait = std::min(2 * wait, longest_pause)) {
    try {
      const auto begin = std::chrono::steady_clock::now();
      try_to_commit(batch);
      {
        const std::lock_guard lock(mutex_);
        failure_.clear();
        counts_.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }
      if (when_committed_) when_committed_(std::move(batch));
      return;
    } catch (const TransactionFailed& failed) {
      const std::lock_guard lock(mutex_);
      ++counts_.aborts;
      failure_ = failed.what();
    }
    abort();
    pause(wait);
  }
}

void Transactor::try_to_commit(Batch& batch) {
  log_.begin();
  std::size_t state_bytes = 0;
  for (const Message& message : batch.messages) {
    log_.produce(message);
    if (message.topic == Topic::state && message.value) state_bytes += message.value->size();
  }
  const std::map<int, Offset> state = log_.flush();
  std::map<int, Committed> offsets;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [partition, p] : batch.progress) {
      const auto written = state.find(partition);
      const auto before = state_upto_.find(partition);
      p.state_upto = written != state.end()        ? written->second
                     : before != state_upto_.end() ? before->second
                                                   : -1;
      offsets[partition] = {.offset = p.offset, .metadata = metadata_of(p)};
    }
  }
  if (!offsets.empty()) log_.send_offsets(offsets, *batch.membership);
  log_.commit();
  const std::lock_guard lock(mutex_);
  for (const auto& [partition, p] : batch.progress) {
    state_upto_[partition] = p.state_upto;
    committed_[partition] = p;
  }
  ++counts_.transactions;
  counts_.state_bytes += state_bytes;
}

void Transactor::abort() {
  while (true) {
    try {
      return log_.abort();
    } catch (const TransactionFailed&) {
      pause(100ms);
    }
  }
}

void Transactor::pause(Milliseconds time) {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, time, [this] { return stop_; }))
    throw MembershipLost("the worker stops");
}

}  // namespace kalstream::fleet
