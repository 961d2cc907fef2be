// What the system tells a running stream.
#pragma once

namespace kalstream {

/// While it lives, SIGTERM and SIGINT ask to stop and SIGHUP asks for a checkpoint, instead of
/// ending the process; a write to a pipe nobody reads, or beyond a limit, fails instead of killing.
/// One at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  bool stop() const;
  /// True once for every SIGHUP, or several close together.
  bool take_hang_up();
  /// Becomes readable when one of them arrives, for poll; take_hang_up() and stop() tell which.
  int descriptor() const;
};

}  // namespace kalstream
