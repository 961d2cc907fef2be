// Commits beside the work: state is written by another thread, from what it was at a moment.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/checkpoint.h"
#include "engine/ports.h"

namespace kalstream {

/// Gives one commit at a time to the store, and its models as they come. There is a thread while
/// one is under way: a process may have many streams.
class Committer {
 public:
  explicit Committer(StateStore& store) : store_(store) {}
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// One is under way, or what became of it has not been told: who starts the next one must know
  /// which models the last one took.
  bool is_busy() const;
  /// Only when it is not busy. From here on what is put belongs to the next one.
  void start(CheckpointImage stream);
  /// A model of it. Those of one that has failed are let go.
  void add(CheckpointImage model);
  /// There will be no more.
  void complete();

  /// Memory that models take which the store does not have yet; whether they are so many that
  /// others should come later, and until they are not.
  std::uint64_t memory() const;
  bool is_full() const;
  void wait_for_room();

  /// What became of the last one, told once: nothing if it is under way or there was none; an empty
  /// text if it is done; else why it failed.
  std::optional<std::string> result();
  /// Waits for it, once it is complete.
  std::optional<std::string> wait();

  /// Something else that takes long, when it is not busy.
  void run(std::function<void()> work);

 private:
  static constexpr std::uint64_t most_waiting = std::uint64_t{32} << 20;  // bytes

  void begin(std::function<void()> work);
  std::string commit();
  std::optional<KeyedState> next();

  StateStore& store_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  std::uint64_t ticket_ = 0;
  std::optional<CheckpointImage> stream_;
  std::deque<CheckpointImage> models_;
  std::uint64_t memory_ = 0;         // of models_, and of …
  std::uint64_t being_written_ = 0;  // … the one before them
  bool complete_ = false;
  std::optional<std::string> result_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace kalstream
