// A few threads that wait for work, for jobs large enough to be shared.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/denormals.h"

namespace kalstream {

/// The calling thread and its helpers. A copy has helpers of its own. Who has nothing to do stays
/// awake for a short while, because the next step of a busy stream is near, and then sleeps.
class Workers {
 public:
  explicit Workers(std::size_t threads);
  Workers(const Workers& other) : Workers(other.helpers_.size() + 1) {}
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  std::size_t size() const { return helpers_.size() + 1; }  ///< threads, with the caller's

  /// job(0), …, job(count − 1), each once, on any thread and in any order; back when all are done.
  /// Helpers treat denormal numbers as the caller does. Allocates nothing; job must not throw.
  template <class Job>
  void run(std::size_t count, const Job& job) {
    if (helpers_.empty())
      for (std::size_t k = 0; k < count; ++k) job(k);
    else
      run(count, &job, [](const void* it, std::size_t k) { (*static_cast<const Job*>(it))(k); });
  }

 private:
  using Call = void (*)(const void* job, std::size_t k);
  void run(std::size_t count, const void* job, Call call);
  void help();
  void work(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards what follows but the helpers
  std::condition_variable work_is_there_;
  std::condition_variable work_is_done_;
  const void* job_ = nullptr;
  Call call_ = nullptr;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  DenormalMode mode_;
  bool stop_ = false;
  // For those awake, who look without the mutex: there may be something to do; all is done.
  std::atomic<bool> call_for_help_ = false;
  std::atomic<bool> finished_ = false;
  std::vector<std::thread> helpers_;
};

/// Workers that several threads ask. Who comes while others have them works alone.
class SharedWorkers {
 public:
  explicit SharedWorkers(std::size_t threads) : workers_(threads) {}

  /// use(workers), and what it gives.
  template <class Use>
  auto use(const Use& use) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) return use(workers_);
    Workers alone(1);
    return use(alone);
  }

 private:
  std::mutex mutex_;
  Workers workers_;
};

/// Threads for so many pieces, when so many are wished for: no more than there are pieces, nor more
/// than any machine has use for, wherever the wish comes from.
inline std::size_t workers_for(std::size_t threads, std::size_t pieces) {
  return std::clamp<std::size_t>(std::min(threads, pieces), 1, 64);
}

}  // namespace kalstream
