// A response that goes on: events to one client, which may be slow.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

struct MHD_Connection;

namespace kalstream::http {

/// Holds no more than `most` bytes that the client has not taken, or one text; what does not fit is
/// left out, and the next that fits is preceded by an event that says so. All from any thread.
class EventStream {
 public:
  using Text = std::shared_ptr<const std::string>;
  static constexpr std::size_t most = std::size_t{256} << 10;

  /// Text with `events` in it, which others may be given, too. False: it did not fit.
  bool send(Text text, std::size_t events);
  /// The client gets what is there, and then the end.
  void finish();
  /// Nobody will read any more.
  bool is_gone() const;

 private:
  friend class Server;

  void attach(MHD_Connection* connection);
  void detach();
  ssize_t read(char* to, std::size_t most);
  void wake();

  mutable std::mutex mutex_;
  MHD_Connection* connection_ = nullptr;
  bool suspended_ = false;
  bool finished_ = false;
  bool gone_ = false;
  std::deque<Text> texts_;
  std::size_t at_ = 0;  // in the first
  std::size_t bytes_ = 0;
  std::uint64_t skipped_ = 0;  // events, since one fitted
};

}  // namespace kalstream::http
