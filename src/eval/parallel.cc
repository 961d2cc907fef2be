#include "eval/parallel.h"

#include <exception>
#include <mutex>

#include "core/workers.h"

namespace kalstream {

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

void parallel_for(std::size_t count, std::size_t jobs,
                  const std::function<void(std::size_t)>& task) {
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  Workers(workers_for(jobs == 0 ? default_jobs() : jobs, count)).run(count, [&](std::size_t k) {
    if (failed) return;
    try {
      task(k);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kalstream
