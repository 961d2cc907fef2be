// Work for a few threads: what belongs to one stream is done in order, and by one thread at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kalstream::serve {

class Strand;

class WorkThreads {
 public:
  explicit WorkThreads(std::size_t threads);
  /// What has not begun by then is not done.
  ~WorkThreads();
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

 private:
  friend class Strand;

  void add(std::shared_ptr<Strand> strand);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Strand>> waiting_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

/// Jobs one after the other. One that takes long is done in parts, and between them the other
/// strands have their turn.
class Strand : public std::enable_shared_from_this<Strand> {
 public:
  using Clock = std::chrono::steady_clock;
  /// Works until then, or a little longer; true: all is done. Must not throw.
  using Job = std::function<bool(Clock::time_point until)>;

  explicit Strand(WorkThreads& threads) : threads_(threads) {}

  void post(Job job);
  /// Does it at once, in this thread, if nothing else is to be done; else posts it.
  void run_or_post(Job job);

 private:
  friend class WorkThreads;

  void take_turn();
  void go_on();

  WorkThreads& threads_;
  std::mutex mutex_;
  std::deque<Job> jobs_;
  bool running_ = false;  // a thread has it, or it waits for one
};

}  // namespace kalstream::serve
