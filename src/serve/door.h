// Everything between streams and HTTP, running.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "serve/api.h"
#include "serve/events.h"
#include "serve/service.h"

namespace kalstream::serve {

class Door {
 public:
  /// Of a service, or of streams that can only be looked at. Throws as http::Server does.
  Door(http::ServerOptions options, Service& service);
  Door(http::ServerOptions options, const Boards& boards);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  std::uint16_t port() const { return server_.port(); }
  /// Lets nobody in any more, and waits so long for those who are.
  void close(std::chrono::milliseconds most);

 private:
  Door(http::ServerOptions options, const Boards& boards, Service* service);
  void watch_clock();

  Service* service_;
  Events events_;
  WorkThreads readers_;
  Api api_;
  http::Server server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread clock_;
};

}  // namespace kalstream::serve
