#include "stream/committer.h"

#include <csignal>
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
  return job_.has_value();
}

void Committer::start(Bytes stream, std::vector<KeyedState> models) {
  const std::uint64_t ticket = store_.begin_commit();
  {
    const std::lock_guard lock(mutex_);
    job_ = Job{ticket, std::move(stream), std::move(models)};
  }
  changed_.notify_all();
}

std::optional<std::string> Committer::result() {
  const std::lock_guard lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

std::optional<std::string> Committer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
  return std::exchange(result_, std::nullopt);
}

void Committer::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    Job job = std::move(*job_);
    lock.unlock();
    std::string failure;
    try {
      store_.commit(job.ticket, std::move(job.stream), std::move(job.models));
    } catch (const std::exception& error) {
      failure = error.what();
    }
    lock.lock();
    job_.reset();
    result_ = std::move(failure);
    changed_.notify_all();
  }
}

}  // namespace kalstream
