#include "monitor/metrics_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "monitor/status.h"

namespace kalstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned most_clients = 64;
constexpr auto patience = std::chrono::seconds(2);  // with one client

/// A file descriptor with an owner.
class Handle {
 public:
  explicit Handle(int fd = -1) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Handle() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }

 private:
  int fd_;
};

bool keep_to_ourselves(int fd) {
  return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 &&
         fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

bool try_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/// A numeric address as the system wants it.
class Address {
 public:
  Address(const std::string& address, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found_) != 0)
      throw std::runtime_error(fmt::format(
          "'{}' is not a numeric address; 127.0.0.1 is this machine alone, 0.0.0.0 lets "
          "others in",
          address));
  }
  ~Address() { freeaddrinfo(found_); }
  Address(const Address&) = delete;
  Address& operator=(const Address&) = delete;

  const addrinfo& operator*() const { return *found_; }

 private:
  addrinfo* found_ = nullptr;
};

Handle open_socket(const addrinfo& address) {
  Handle handle(socket(address.ai_family, address.ai_socktype, address.ai_protocol));
  if (handle.get() >= 0 && !keep_to_ourselves(handle.get())) return Handle();
  return handle;
}

int milliseconds_until(Clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

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

std::string fetch_metrics(std::uint16_t port, const std::string& address,
                          std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const std::string name = fmt::format("{}:{}", address, port);
  const auto wait = [&](int socket, short events) {
    pollfd polled{.fd = socket, .events = events, .revents = 0};
    int ready = 0;
    do {
      ready = poll(&polled, 1, milliseconds_until(deadline));
    } while (ready < 0 && errno == EINTR && Clock::now() < deadline);
    if (ready <= 0) throw std::runtime_error(fmt::format("{} does not answer", name));
  };
  const Address where(address, port);
  const Handle socket = open_socket(*where);
  const auto failed = [&](int error) {
    throw std::runtime_error(fmt::format("{} cannot be reached: {}", name, std::strerror(error)));
  };
  if (socket.get() < 0) failed(errno);
  if (connect(socket.get(), (*where).ai_addr, (*where).ai_addrlen) != 0) {
    if (errno != EINPROGRESS) failed(errno);
    wait(socket.get(), POLLOUT);
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) failed(error);
  }
  const std::string request =
      fmt::format("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", name);
  for (std::size_t sent = 0; sent < request.size();) {
    wait(socket.get(), POLLOUT);
    const ssize_t n =
        send(socket.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && !try_again(errno)) failed(errno);
    sent += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  std::string response;
  std::array<char, 4096> buffer;
  for (;;) {
    wait(socket.get(), POLLIN);
    const ssize_t n = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && try_again(errno)) continue;
    if (n < 0) failed(errno);
    if (n == 0) break;
    response.append(buffer.data(), static_cast<std::size_t>(n));
    if (response.size() > largest_metrics_text)
      throw std::runtime_error(fmt::format("{} answers with more than metrics", name));
  }
  const auto body = response.find("\r\n\r\n");
  const auto code = response.find(' ');
  if (!response.starts_with("HTTP/1.") || body == std::string::npos ||
      response.compare(code, 5, " 200 ") != 0)
    throw std::runtime_error(fmt::format("{} answers, but not with metrics", name));
  return response.substr(body + 4);
}

}  // namespace kalstream
