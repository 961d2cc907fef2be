#include "stream/committer.h"

#include <csignal>
#include <stdexcept>
#include <utility>

namespace kalstream {

Committer::Committer(StateStore& store) : store_(store) {
  // Signals are for the thread that reads the stream.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Committer::is_busy() const {
  const std::lock_guard lock(mutex_);
  return busy_ || result_.has_value();
}

void Committer::start(CheckpointImage stream) {
  const std::uint64_t ticket = store_.begin_commit();
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
    complete_ = false;
    ticket_ = ticket;
    stream_ = std::move(stream);
  }
  changed_.notify_all();
}

void Committer::add(CheckpointImage model) {
  {
    const std::lock_guard lock(mutex_);
    if (!busy_) return;
    memory_ += model.memory();
    models_.push_back(std::move(model));
  }
  changed_.notify_all();
}

void Committer::complete() {
  {
    const std::lock_guard lock(mutex_);
    complete_ = true;
  }
  changed_.notify_all();
}

std::uint64_t Committer::memory() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

bool Committer::is_full() const { return memory() > most_waiting; }

void Committer::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return memory_ <= most_waiting || !busy_; });
}

std::optional<std::string> Committer::result() {
  const std::lock_guard lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

std::optional<std::string> Committer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
  return std::exchange(result_, std::nullopt);
}

void Committer::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
    other_ = std::move(work);
  }
  changed_.notify_all();
}

void Committer::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stream_ || other_ || ends_; });
    if (stream_) {
      result_ = commit(lock);
      models_.clear();
      memory_ = being_written_ = 0;
    } else if (other_) {
      const auto other = std::exchange(other_, nullptr);
      lock.unlock();
      other();
      lock.lock();
    } else {
      return;
    }
    busy_ = false;
    changed_.notify_all();
  }
}

// Why it failed; empty: it did not.
std::string Committer::commit(std::unique_lock<std::mutex>& lock) {
  CheckpointImage stream = std::move(*stream_);
  stream_.reset();
  const std::uint64_t ticket = ticket_;
  lock.unlock();
  std::string failure;
  try {
    store_.commit(ticket, std::move(stream).finish(), [this] { return next(); });
  } catch (const std::exception& error) {
    failure = error.what();
  }
  lock.lock();
  return failure;
}

std::optional<KeyedState> Committer::next() {
  std::unique_lock lock(mutex_);
  memory_ -= std::exchange(being_written_, 0);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !models_.empty() || complete_ || ends_; });
  if (models_.empty() && !complete_) throw std::runtime_error("the stream has ended before");
  if (models_.empty()) return {};
  CheckpointImage model = std::move(models_.front());
  models_.pop_front();
  being_written_ = model.memory();
  lock.unlock();
  std::string key = model.key();
  return KeyedState{std::move(key), std::move(model).finish()};
}

}  // namespace kalstream
