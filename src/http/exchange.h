// A request, and its answer on the way back.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "http/event_stream.h"
#include "http/message.h"

struct MHD_Connection;

namespace kalstream::http {

/// A request and the way back: whoever holds it answers, from any thread. The first answer counts.
class Exchange {
 public:
  const Request& request() const { return request_; }
  /// To take its parts away.
  Request& request() { return request_; }

  void answer(Response response);
  void answer(std::shared_ptr<EventStream> events);

  /// What it was answered with, until that is sent; nothing: it was not, or with events.
  std::optional<Response> response();
  bool is_answered();

 private:
  friend class Server;

  void wake();

  std::mutex mutex_;
  MHD_Connection* connection_ = nullptr;  // nullptr: it is closed
  bool suspended_ = false;
  std::optional<Response> response_;
  std::shared_ptr<EventStream> events_;
  Request request_;
  std::size_t counted_ = 0;          // of the body, against the limit
  bool begun_ = false;               // its headers have been looked at
  bool asked_ = false;               // the handler has it
  std::optional<Response> refused_;  // the rest of its body is passed over
};

}  // namespace kalstream::http
