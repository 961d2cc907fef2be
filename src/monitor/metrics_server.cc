#include "monitor/metrics_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "monitor/status.h"
#include "system/system.h"

namespace kalstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned most_clients = 64;
constexpr auto patience = std::chrono::seconds(2);  // with one client

}  // namespace

MetricsServer::MetricsServer(std::uint16_t port, const std::string& address) {
  http::ServerOptions options;
  options.address = address;
  options.port = port;
  options.patience = patience;
  options.sending = 5 * patience;
  options.max_connections = most_clients;
  try {
    server_ = std::make_unique<http::Server>(
        std::move(options), [this](const std::shared_ptr<http::Exchange>& exchange) {
          http::Response response = respond(exchange->request());
          response.content_type = "text/plain; version=0.0.4; charset=utf-8";
          response.headers.emplace_back("Connection", "close");
          exchange->answer(std::move(response));
        });
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("metrics ") + error.what());
  }
}

MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const { return server_->port(); }

void MetricsServer::publish(std::string text) {
  auto fresh = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex_);
  text_.swap(fresh);
}

http::Response MetricsServer::respond(const http::Request& request) const {
  if (request.method != "GET")
    return {.status = 405, .body = "only GET is served\n", .headers = {{"Allow", "GET"}}};
  if (request.path == "/") return {.body = "kalstream: the metrics are at /metrics\n"};
  if (request.path != "/metrics") return {.status = 404, .body = "the metrics are at /metrics\n"};
  const std::lock_guard lock(mutex_);
  return {.shared_body = text_};
}

std::string fetch_metrics(std::uint16_t port, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const std::string name = fmt::format("127.0.0.1:{}", port);
  const Descriptor socket(System::real(), ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto require = [&](ssize_t result) {
    if (result >= 0) return static_cast<std::size_t>(result);
    if (errno == EAGAIN || errno == EINPROGRESS)
      throw std::runtime_error(fmt::format("{} does not answer", name));
    throw std::runtime_error(fmt::format("{} cannot be reached: {}", name, std::strerror(errno)));
  };
  // No call takes longer than what is left of the time.
  const auto limit_calls = [&] {
    using std::chrono::microseconds;
    const auto left = std::chrono::duration_cast<microseconds>(deadline - Clock::now());
    if (left <= microseconds(0)) throw std::runtime_error(fmt::format("{} does not answer", name));
    timeval time{};
    time.tv_sec = left.count() / 1'000'000;
    time.tv_usec = left.count() % 1'000'000;
    for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO})
      require(setsockopt(socket.get(), SOL_SOCKET, option, &time, sizeof(time)));
  };
  require(socket.get());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  limit_calls();
  require(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
  const std::string request =
      fmt::format("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", name);
  require(send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL));
  std::string response;
  std::array<char, 4096> buffer;
  for (std::size_t n = 1; n > 0 && response.size() <= largest_metrics_text;) {
    limit_calls();
    const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    n = require(got);
    response.append(buffer.data(), n);
  }
  if (response.size() > largest_metrics_text)
    throw std::runtime_error(fmt::format("{} answers with more than metrics", name));
  const auto body = response.find("\r\n\r\n");
  const auto code = response.find(' ');
  if (!response.starts_with("HTTP/1.") || body == std::string::npos ||
      response.compare(code, 5, " 200 ") != 0)
    throw std::runtime_error(fmt::format("{} answers, but not with metrics", name));
  return response.substr(body + 4);
}

}  // namespace kalstream
