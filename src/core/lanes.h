// Tasks shared among threads so that each comes back to the same thread, where its memory is warm,
// and no thread waits while others have too much.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

#include "core/workers.h"

namespace kalstream {

/// One lane for every thread. A task's owner tells its lane, and the largest come first; who has
/// done all of his own takes those of the others.
class Lanes {
 public:
  struct Task {
    std::size_t owner = 0;  ///< any number, always the same for those that belong together
    std::size_t begin = 0;  ///< what is to be done, as the job understands it, …
    std::size_t end = 0;    ///< … and how much it is: end − begin
  };

  /// job(task) for each task, once; sorts them. The job must not throw.
  template <class Job>
  void run(Workers& workers, std::span<Task> tasks, const Job& job) {
    const std::size_t lanes = std::min(workers.size(), lanes_.size());
    for (Task& task : tasks) task.owner %= lanes;
    std::ranges::sort(tasks, [](const Task& a, const Task& b) {
      const std::size_t size_a = a.end - a.begin;
      const std::size_t size_b = b.end - b.begin;
      return a.owner != b.owner ? a.owner < b.owner
             : size_a != size_b ? size_a > size_b
                                : a.begin < b.begin;
    });
    std::size_t at = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      lanes_[lane].next = at;
      while (at < tasks.size() && tasks[at].owner == lane) ++at;
      lanes_[lane].end = at;
    }
    workers.run(lanes, [&](std::size_t own) {
      for (std::size_t k = 0; k < lanes; ++k) {
        Lane& lane = lanes_[(own + k) % lanes];
        for (std::size_t task = lane.next++; task < lane.end; task = lane.next++) job(tasks[task]);
      }
    });
  }

 private:
  struct alignas(64) Lane {
    std::atomic<std::size_t> next = 0;
    std::size_t end = 0;
  };
  std::array<Lane, 64> lanes_;  // as many as Workers have threads, at most
};

}  // namespace kalstream
