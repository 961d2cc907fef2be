// Metrics over HTTP, for Prometheus and `kalstream top`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "http/server.h"

namespace kalstream {

/// Where a stream serves its metrics, and `kalstream top` looks for them, if nothing else is said.
inline constexpr std::uint16_t default_metrics_port = 9464;

/// Serves the latest published text at GET /metrics, from a thread of its own that takes no
/// signals. A client has two seconds for its request.
class MetricsServer {
 public:
  /// Port 0 takes a free one. Throws std::runtime_error, naming the port and what to do.
  explicit MetricsServer(std::uint16_t port, const std::string& address = "127.0.0.1");
  ~MetricsServer();

  std::uint16_t port() const;

  /// From any thread.
  void publish(std::string text);

 private:
  http::Response respond(const http::Request& request) const;

  mutable std::mutex mutex_;  // guards text_
  std::shared_ptr<const std::string> text_ = std::make_shared<const std::string>();
  std::unique_ptr<http::Server> server_;
};

/// What a server on this machine gives at /metrics. Throws std::runtime_error if it does not answer
/// in time, or not with metrics.
std::string fetch_metrics(std::uint16_t port,
                          std::chrono::milliseconds timeout = std::chrono::seconds(2));

}  // namespace kalstream
