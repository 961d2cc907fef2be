// Everything between streams and HTTP, running.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "serve/api.h"
#include "serve/events.h"
#include "serve/service.h"
#include "stream/stream_monitor.h"

namespace kalstream::serve {

class Door {
 public:
  /// `service` is nullptr where streams can only be looked at. Throws as http::Server does.
  Door(http::ServerOptions options, const Boards& boards, Service* service = nullptr);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  std::uint16_t port() const { return server_.port(); }
  /// Lets nobody in any more, and waits so long for those who are.
  void close(std::chrono::milliseconds most);

 private:
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

/// The page of a stream whose samples come from a pipe or a file: to be looked at, nothing more.
class StreamPage final : public StreamListener, private Boards {
 public:
  /// At 127.0.0.1. Throws std::runtime_error if the port cannot be used.
  StreamPage(const std::string& name, const StreamSettings& settings, std::uint16_t port);

  std::uint16_t port() const { return door_.port(); }

  void began(const Engine& engine) override;
  void answered(const Answer& answer, std::string_view text) override;
  void warned(const char* kind, const std::string& text) override { board_->warned(kind, text); }
  void looked(const Engine& engine, const StreamStatus& status) override;

 private:
  std::vector<std::shared_ptr<const Board>> boards() const override { return {board_}; }
  std::shared_ptr<const Board> board(const std::string& name) const override {
    return name == board_->name() ? board_ : nullptr;
  }

  PointBudget points_;
  std::shared_ptr<Board> board_;
  const Engine* engine_ = nullptr;  // that is looked at
  Door door_;
};

}  // namespace kalstream::serve
