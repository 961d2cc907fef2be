#include "core/workers.h"

#include <chrono>

namespace kalstream {

namespace {

// Long enough for the rest of a step and a line of input, and nothing to a slow stream.
constexpr std::chrono::microseconds awake{100};

// Comes back when `it` is true, or after a while. Others who need the core get it.
void stay_awake(const std::atomic<bool>& it) {
  const auto until = std::chrono::steady_clock::now() + awake;
  while (!it.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
}

}  // namespace

Workers::Workers(std::size_t threads) {
  for (std::size_t k = 1; k < threads; ++k) helpers_.emplace_back([this] { help(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    call_for_help_ = true;
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
  finished_ = false;
  call_for_help_ = true;
  work_is_there_.notify_all();
  work(lock);
  if (done_ == count_) return;
  lock.unlock();
  stay_awake(finished_);
  lock.lock();
  work_is_done_.wait(lock, [&] { return done_ == count_; });
}

void Workers::help() {
  for (;;) {
    stay_awake(call_for_help_);
    std::unique_lock lock(mutex_);
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
    if (next_ == count_) call_for_help_ = false;
    lock.unlock();
    call_(job_, k);
    lock.lock();
    if (++done_ == count_) {
      finished_ = true;
      work_is_done_.notify_one();
    }
  }
}

}  // namespace kalstream
