// The head of a request, as libmicrohttpd gives it.
#pragma once

#include <microhttpd.h>

#include <cstdint>
#include <string_view>

#include "http/guard.h"
#include "http/message.h"

namespace kalstream::http {

/// The headers of a request, as they come from libmicrohttpd.
///
/// Before its version 1.0 that takes every text to end at its first NUL, and passes over what is
/// behind. But it leaves the head of a request where it was read, with one NUL in the place of each
/// character between its parts: wherever there is something else between two of them, the client
/// has sent a NUL, or no proper end of a line.
class RequestHead {
 public:
  /// Headers are written into `request`. `version` and `end_of_target` point into the head.
  RequestHead(Request& request, const char* version, const char* end_of_target);

  /// Sees all headers of the connection's request.
  void read(MHD_Connection* connection);

  /// After all of them, up to the end of the head; nullptr: nothing is wrong.
  const char* fault(const char* end);

  /// What the client says of the length of its body.
  std::uint64_t length() const { return length_; }

 private:
  void end_line();
  void see(std::string_view name, std::string_view value);

  Request& request_;
  FramingCheck framing_;
  const char* at_;  // in the head as it was read
  bool intact_;
  std::uint64_t length_ = 0;
};

}  // namespace kalstream::http
