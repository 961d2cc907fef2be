// A few threads that wait for work, for jobs large enough to be shared.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/denormals.h"

namespace kalstream {

/// The calling thread and its helpers. A copy has helpers of its own.
class Workers {
 public:
  explicit Workers(std::size_t threads);
  Workers(const Workers& other) : Workers(other.helpers_.size() + 1) {}
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  /// job(0), …, job(count − 1), each once, on any thread and in any order; back when all are done.
  /// Helpers treat denormal numbers as the caller does. Allocates nothing; job must not throw.
  template <class Job>
  void run(std::size_t count, const Job& job) {
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
  std::vector<std::thread> helpers_;
};

}  // namespace kalstream
