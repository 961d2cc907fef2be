// An HTTP server: one thread for all connections, answers from any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>

#include "http/event_stream.h"
#include "http/exchange.h"
#include "http/guard.h"

struct MHD_Daemon;

namespace kalstream::http {

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< numeric
  std::uint16_t port = 0;             ///< 0: a free one
  GuardOptions guard;
  std::size_t max_body = std::size_t{16} << 20;     ///< of one request
  std::size_t max_bodies = std::size_t{256} << 20;  ///< of all, as far as they have come
  unsigned max_connections = 2000;
  /// With a client that waits with its request, with the head of one, and with its body. When
  /// connections or bodies are too many, who has been at that the longest is let go before.
  std::chrono::seconds patience{60};
  std::chrono::seconds sending{300};  ///< with one that takes its answer
  std::string certificate;            ///< PEM; with both of them TLS is spoken, and nothing else
  std::string key;
};

class Server {
 public:
  using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;

  /// The handler is called in the server's thread and should not take long. Throws
  /// std::runtime_error, naming port and address and what to do.
  Server(ServerOptions options, Handler handler);
  /// Who has not been answered by then is told that the server stops.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return port_; }

  /// Nobody new is let in; requests under way are answered. Waits until they are, or for so long.
  void stop(std::chrono::milliseconds most);

 private:
  struct Link;
  struct Calls;  // from libmicrohttpd

  void watch();

  ServerOptions options_;
  Handler handler_;
  Guard guard_;
  std::uint16_t port_ = 0;
  // Bytes of bodies that are whole, and of those that are not yet: of libmicrohttpd's thread alone.
  std::size_t bodies_ = 0;
  std::size_t arriving_ = 0;
  std::atomic<std::size_t> requests_{0};  // under way, but for streams of events
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // of what follows
  std::unordered_set<Link*> links_;
  std::unordered_set<std::shared_ptr<Exchange>> suspended_;
  std::unordered_set<std::shared_ptr<EventStream>> events_;
  bool closed_ = false;  // nobody may wait any more
  bool ends_ = false;
  std::condition_variable changed_;
  int listener_ = -1;
  MHD_Daemon* daemon_ = nullptr;
  std::thread watch_;
};

}  // namespace kalstream::http
