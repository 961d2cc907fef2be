// When a running stream is kept, and that it is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "ports/ports.h"
#include "stream/committer.h"

namespace kalstream {

/// Between two checkpoints, if there was anything in between.
struct Cadence {
  std::uint64_t samples = 0;  ///< 0: by time
  std::chrono::milliseconds time{30'000};
};

class Checkpoints {
 public:
  using Clock = std::chrono::steady_clock;

  Checkpoints(Source& source, Engine& engine, StateStore& store, Cadence cadence);

  /// Goes on from what the store holds; nothing if it holds nothing, else what to tell people.
  /// Throws as restore() does.
  std::optional<std::string> resume();

  /// Starts one if it is due, or `at_once`, unless one is under way. Only a copy is made at
  /// once, and written beside the work.
  void look_at_clock(bool at_once);
  /// Why the last one failed, told once; empty: nothing to tell.
  std::string failure();
  /// Waits for one under way; with `one_more`, makes another. What failed is in failure().
  void finish(bool one_more);

  std::uint64_t written() const { return written_; }
  std::uint64_t failed() const { return failed_; }
  Clock::time_point last() const { return last_; }

 private:
  bool is_due() const;
  void start();
  void see(const std::optional<std::string>& result);
  void fail(std::string why);

  Source& source_;
  Engine& engine_;
  StateStore& store_;
  Cadence cadence_;
  Committer committer_;
  Clock::time_point last_ = Clock::now();
  std::uint64_t samples_ = 0;  // at the last one
  std::uint64_t line_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t failed_ = 0;
  std::string failure_;
};

}  // namespace kalstream
