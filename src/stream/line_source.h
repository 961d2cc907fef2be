// Lines of a live stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "lines/line_place.h"
#include "system/system.h"

namespace kalstream {

/// Lines as they come, from a descriptor until its end, or from a file that others append to, which
/// has none. Holds no more than one line and a read in memory; of a longer line only the beginning.
class LineSource {
 public:
  enum class Event { line, idle, end };

  /// Reads from an open descriptor. `wake` ends a wait when it becomes readable; −1: nothing does.
  LineSource(int descriptor, int wake, std::size_t longest, System& system = System::real());

  /// Follows the file: waits for what is appended, begins anew when it is cut short or another file
  /// takes its name. Throws std::runtime_error if it cannot be opened.
  LineSource(std::string path, int wake, std::size_t longest, System& system = System::real());

  /// The next line, idle when `most` has passed or `wake` is readable, end. Throws
  /// std::runtime_error if it cannot be read.
  Event next(std::chrono::milliseconds most);
  std::string_view line() const { return line_; }
  /// Since when it has been there: when it was read, or, if it did not have to be waited for, since
  /// the last time somebody asked. A regular file has no such time: since now.
  std::chrono::steady_clock::time_point arrival() const { return arrival_; }

  /// Memory taken by what was read.
  std::size_t memory() const { return buffer_.capacity() + line_.capacity(); }

  /// A file, which can be gone back to, and no pipe.
  bool is_file() const { return is_file_; }

  /// Where a file stands: what is needed to go on from there, on another machine as well. Throws
  /// std::runtime_error if the file cannot be read.
  FilePlace place() const;
  /// It stood there when it was left: go_on() will look for that place.
  void set_place(const FilePlace& place) { place_ = place; }
  /// Goes on where it stood; of a file that is followed, also in one that
  /// it was renamed to since, beside it. False, and from the start, if it is not the file that was
  /// read then, or none. Throws std::runtime_error if that cannot be told.
  bool go_on();

  /// Where it goes on is within a line: one that had no end when it was taken, at the end of a file
  /// that somebody was still writing. The next line is the rest of it.
  bool goes_on_within_line() const { return within_line_; }

  /// Length of the last line, if a pipe ended within it; else 0.
  std::uint64_t cut() const { return is_file_ ? 0 : cut_; }

 private:
  bool take_line();
  bool refill();
  bool wait(std::chrono::milliseconds most);
  bool look_for_another();
  bool holds_place(int descriptor) const;
  bool find_rotated();
  std::string rotated_after(const struct stat& open) const;
  std::uint64_t sum_of(int descriptor, std::uint64_t from, std::uint64_t length) const;

  System& system_;
  std::string path_;  // of a followed file
  Descriptor file_;   // that one
  int descriptor_;
  int wake_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t at_ = 0;       // of what is not yet taken
  std::size_t scanned_ = 0;  // no line end before
  bool skipping_ = false;    // the rest of a line too long
  bool ended_ = false;
  bool within_line_ = false;
  std::uint64_t cut_ = 0;
  std::string line_;
  std::string left_over_;  // of a file that was renamed: its last line, without an end
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point arrival_ = asked_;
  bool is_file_ = false;
  FilePlace place_;  // the sums only where it was left
};

}  // namespace kalstream
