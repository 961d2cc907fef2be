#include "core/workers.h"

namespace kalstream {

Workers::Workers(std::size_t threads) {
  for (std::size_t k = 1; k < threads; ++k) helpers_.emplace_back([this] { help(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_is_there_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::run(std::size_t count, const void* job, Call call) {
  std::unique_lock lock(mutex_);
  job_ = job;
  call_ = call;
  count_ = count;
  next_ = done_ = 0;
  mode_ = DenormalMode::current();
  work_is_there_.notify_all();
  work(lock);
  work_is_done_.wait(lock, [&] { return done_ == count_; });
}

void Workers::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_is_there_.wait(lock, [&] { return stop_ || next_ < count_; });
    if (stop_) return;
    mode_.apply();
    work(lock);
  }
}

// Takes one piece after the other while there are any.
void Workers::work(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t k = next_++;
    lock.unlock();
    call_(job_, k);
    lock.lock();
    if (++done_ == count_) work_is_done_.notify_one();
  }
}

}  // namespace kalstream
