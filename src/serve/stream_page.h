// The page of a stream whose samples come from a pipe or a file: to be looked at, nothing more.
#pragma once

#include "serve/door.h"
#include "stream/stream_monitor.h"

namespace kalstream::serve {

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
