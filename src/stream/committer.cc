#include "stream/committer.h"

#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace kalstream {

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Only when the last one is done.
void Committer::begin(std::function<void()> work) {
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
  }
  // Signals are for the thread that reads the stream.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, work = std::move(work)] {
      work();
      const std::lock_guard lock(mutex_);
      busy_ = false;
      changed_.notify_all();
    });
  } catch (const std::system_error& error) {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    result_ = std::string("there is no thread for it: ") + error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Committer::is_busy() const {
  const std::lock_guard lock(mutex_);
  return busy_ || result_.has_value();
}

void Committer::start(CheckpointImage stream) {
  {
    const std::lock_guard lock(mutex_);
    complete_ = false;
    ticket_ = store_.begin_commit();
    stream_ = std::move(stream);
  }
  begin([this] {
    std::string failure = commit();
    const std::lock_guard lock(mutex_);
    result_ = std::move(failure);
    models_.clear();
    memory_ = being_written_ = 0;
  });
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

void Committer::run(std::function<void()> work) { begin(std::move(work)); }

// Why it failed; empty: it did not.
std::string Committer::commit() {
  try {
    store_.commit(ticket_, std::move(*stream_).finish(), [this] { return next(); });
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
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
