// A progress bar for long runs, fed from any number of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>

#include "view/table.h"

namespace kalstream::view {

/// Whether people, and not a file or a pipe, are at the other end.
bool is_terminal(std::FILE* stream);

/// In characters; 80 where it is not known.
std::size_t terminal_width(std::FILE* stream);

/// A bar of at most `width` columns, filled in eighths of a column; nothing for a fraction of 0.
std::string filled_bar(double fraction, std::size_t width);

/// What a progress bar shows, as one line of at most `width` columns.
struct ProgressState {
  std::string label = {};
  std::size_t done = 0;
  std::size_t total = 0;
  double seconds = 0;  ///< since the start
  std::string note = {};
};
std::string progress_line(const ProgressState& state, std::size_t width);

/// Draws itself on one line of the terminal, at most ten times a second, and leaves nothing behind.
/// All calls may come from any thread, and cost little when it is not enabled.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `now` tells the time, from any thread.
  Progress(std::string label, std::size_t total, bool enabled, std::FILE* stream = stderr,
           std::function<Clock::time_point()> now = Clock::now);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::size_t steps = 1);
  void set_note(std::string note);  ///< e.g. the current error of each learner

  /// Erases the bar. It stays away, whoever still advances.
  void finish();

  std::size_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  void draw_if_due();

  const bool enabled_;
  const std::function<Clock::time_point()> now_;
  const Clock::time_point start_ = now_();
  std::FILE* const stream_;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::int64_t> next_draw_;  // milliseconds after start_
  std::mutex mutex_;                     // guards what follows, and the stream
  ProgressState state_;
  bool visible_ = false;
  bool finished_ = false;
};

}  // namespace kalstream::view
