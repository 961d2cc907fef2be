// Who may ask.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "http/message.h"

namespace kalstream::http {

struct GuardOptions {
  /// Names this machine may be called by, besides localhost and numeric addresses: a page of
  /// another site can make its own name lead here, but no number.
  std::vector<std::string> hosts;
  std::string token;  ///< that every request needs; empty: none does
  double rate = 0;    ///< requests a second of one client; 0: any number
};

/// Sees the headers of a request, in their order, and tells where a proxy before this server may
/// have taken them for another request than this server would: where the body ends, and whom it is
/// for, has to be said once, plainly.
class FramingCheck {
 public:
  explicit FramingCheck(std::string_view version) : may_be_chunked_(version == "HTTP/1.1") {}

  void see(std::string_view name, std::string_view value);

  /// What is wrong with those seen so far; nullptr: nothing.
  const char* fault() const { return fault_; }

 private:
  const char* fault_ = nullptr;
  bool may_be_chunked_;
  bool host_ = false;
  bool length_ = false;
  bool encoded_ = false;
};

/// Looks at every request before anything else does; in one thread.
class Guard {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Guard(GuardOptions options) : options_(std::move(options)) {}

  /// Why it is not served; nothing: it is.
  std::optional<Response> refuse(const Request& request, Clock::time_point now);

 private:
  struct Bucket {
    double left = 0;
    Clock::time_point last;
  };

  bool knows_host(std::string_view host) const;
  bool is_token(std::string_view text) const;
  bool shows_token(const Request& request) const;
  bool is_too_fast(const std::string& client, Clock::time_point now);

  GuardOptions options_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace kalstream::http
