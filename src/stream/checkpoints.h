// When a running stream is kept, and that it is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/ports.h"
#include "stream/committer.h"

namespace kalstream {

/// Between two checkpoints, if there was anything in between.
struct Cadence {
  std::uint64_t samples = 0;  ///< 0: by time
  std::chrono::milliseconds time{30'000};
};

/// Of "5000", samples, or "30s", "5m", "2h". Throws std::invalid_argument.
Cadence cadence_of(const std::string& text);

/// A checkpoint is the stream as it was when it began. What has to be done on the way of the
/// samples is done in slices: all the time there is while none come, else a fifth of it; a model
/// that is about to change before its turn comes is copied first. Only where memory is short do
/// samples wait until such copies are written.
class Checkpoints {
 public:
  using Clock = std::chrono::steady_clock;

  Checkpoints(Source& source, Engine& engine, StateStore& store, Cadence cadence);

  /// Goes on from what the store holds; nothing if it holds nothing, else what to tell people.
  /// Throws as restore() does.
  std::optional<std::string> resume();

  /// Begins one if it is due, or `asked` for, once none is under way; goes on with one that is.
  /// `idle`: no record has come.
  void look_at_clock(bool asked, bool idle);
  /// Goes on with one that is under way.
  void go_on(bool idle);
  /// Records that can be taken before it may be due.
  std::uint64_t records_until_due() const;
  /// How long to wait for a record before there is something to do here.
  std::chrono::milliseconds patience() const;

  /// Why the last one failed, told once; empty: nothing to tell.
  std::string failure();
  /// Waits for one under way; with `one_more`, makes another. What failed is in failure().
  void finish(bool one_more);

  std::uint64_t written() const { return written_; }
  std::uint64_t failed() const { return failed_; }
  Clock::time_point last() const { return last_; }
  /// What is taken by states on their way to the store.
  std::uint64_t memory() const { return committer_.memory(); }

 private:
  bool is_due() const;
  bool prepare();
  void start(bool with_copy);
  void give_all();
  void see(const std::optional<std::string>& result);
  void fail(std::string why);

  Source& source_;
  Engine& engine_;
  StateStore& store_;
  Cadence cadence_;
  Committer committer_;
  bool asked_ = false;
  bool gives_ = false;  // models to the commit under way
  bool is_prepared_ = false;
  std::shared_ptr<Learner> copy_;  // of a large model, used again and again
  Clock::duration credit_{};       // for slices
  Clock::time_point last_slice_ = Clock::now();
  Clock::time_point last_ = Clock::now();
  std::uint64_t samples_ = 0;  // at the last one
  std::uint64_t line_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t failed_ = 0;
  std::string failure_;
};

}  // namespace kalstream
