// Events of streams to those who listen.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "http/event_stream.h"
#include "serve/service.h"

namespace kalstream::serve {

/// Those who listen to the same get the same text: it is made once, some times a second, and never
/// by the thread that learns. Who is slow misses some of it, and is told. Of all streams those with
/// news are told, some at a time, in turn: a second's text has a bound, however many there are.
class Events {
 public:
  explicit Events(const Boards& boards) : boards_(boards) {}

  /// What happens from now on: of a stream, or, without its name, of all of them in summary.
  void listen(const std::string& stream, View view, std::shared_ptr<http::EventStream> listener);
  /// To be called some times a second.
  void tick(bool a_second_has_passed);
  std::size_t listeners() const;

 private:
  using Listener = std::shared_ptr<http::EventStream>;
  struct Channel {
    View view;
    std::uint64_t since = 0;         // points
    std::uint64_t status_since = 0;  // the last status
    std::vector<Listener> listeners;
  };
  /// What was told of a stream among all, as the number of its events.
  struct Told {
    std::uint64_t status = 0;
    std::uint64_t warnings = 0;
  };
  using Name = std::tuple<std::string, std::optional<std::string>, std::size_t>;

  void send_news(const std::string& stream, Channel& channel);
  void send_status(const std::string& stream, Channel& channel);
  void send_streams(const Channel& channel);

  const Boards& boards_;
  mutable std::mutex mutex_;
  std::map<Name, Channel> channels_;
  std::map<std::string, Told> told_;  // where somebody listens to all streams
  std::string last_told_;             // the last of them by name
  int seconds_ = 0;
};

}  // namespace kalstream::serve
