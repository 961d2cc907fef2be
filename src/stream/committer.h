// Commits beside the work: state is written by a thread of its own, from a copy.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "ports/ports.h"

namespace kalstream {

/// Gives one commit at a time to the store.
class Committer {
 public:
  explicit Committer(StateStore& store);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  bool is_busy() const;
  /// Only when it is not busy. From here on what is put belongs to the next one.
  void start(Bytes stream, std::vector<KeyedState> models);
  /// What became of the last one, told once: nothing if it is under way or there was none; an empty
  /// text if it is done; else why it failed.
  std::optional<std::string> result();
  /// Waits for it.
  std::optional<std::string> wait();

 private:
  struct Job {
    std::uint64_t ticket = 0;
    Bytes stream;
    std::vector<KeyedState> models;
  };

  void work();

  StateStore& store_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> job_;  // to be done, or under way
  std::optional<std::string> result_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace kalstream
