#include "serve/strand.h"

#include <utility>

#include "core/quiet_thread.h"

namespace kalstream::serve {

using namespace std::chrono_literals;

namespace {

constexpr auto turn = 10ms;

}  // namespace

WorkThreads::WorkThreads(std::size_t threads) {
  for (std::size_t k = 0; k < threads; ++k)
    threads_.push_back(start_quiet_thread([this] { work(); }));
}

WorkThreads::~WorkThreads() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  // Jobs may hold those who hold their strand.
  for (const auto& strand : waiting_) strand->jobs_.clear();
}

void WorkThreads::add(std::shared_ptr<Strand> strand) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(strand));
  }
  changed_.notify_one();
}

void WorkThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const std::shared_ptr<Strand> strand = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    strand->take_turn();
    lock.lock();
  }
}

void Strand::post(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (!std::exchange(running_, true)) threads_.add(shared_from_this());
}

void Strand::run_or_post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (running_) return jobs_.push_back(std::move(job));
    running_ = true;
  }
  if (!job(Clock::now() + turn)) {
    const std::lock_guard lock(mutex_);
    jobs_.push_front(std::move(job));
  }
  go_on();
}

void Strand::take_turn() {
  const auto end = Clock::now() + turn;
  do {
    Job job;
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.empty()) break;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (job(end)) continue;
    const std::lock_guard lock(mutex_);
    jobs_.push_front(std::move(job));
  } while (Clock::now() < end);
  go_on();
}

void Strand::go_on() {
  const std::lock_guard lock(mutex_);
  running_ = !jobs_.empty();
  if (running_) threads_.add(shared_from_this());
}

}  // namespace kalstream::serve
