#include "monitor/metrics_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "monitor/status.h"

namespace kalstream {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_clients = 16;
constexpr std::size_t largest_request = 8192;
constexpr auto patience = std::chrono::seconds(2);      // with one client
constexpr auto pause = std::chrono::milliseconds(100);  // when the system has no more sockets

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
  int release() { return std::exchange(fd_, -1); }

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

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, 16> service{};
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, service.data(),
                  service.size(), NI_NUMERICSERV) != 0)
    return 0;
  return static_cast<std::uint16_t>(std::stoi(service.data()));
}

std::string http(std::string_view status, std::string_view body,
                 std::string_view more_headers = "") {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      status, body.size(), more_headers, body);
}

/// Reads its request, sends the response, then waits for it to go: to close while it still sends
/// would take the response back.
struct Client {
  enum class Stage { reading, writing, leaving, gone };

  Handle socket;
  Clock::time_point deadline;
  Stage stage = Stage::reading;
  std::string request = {};
  std::string response = {};
  std::size_t sent = 0;
};

/// What has come, at the end of the request while that is read; whether it is complete, or too
/// long.
bool receive(Client& client) {
  std::array<char, 2048> buffer;
  const ssize_t n = recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && try_again(errno)) return false;
  if (n <= 0) {
    client.stage = Client::Stage::gone;
    return false;
  }
  if (client.stage == Client::Stage::leaving) return false;
  client.request.append(buffer.data(), static_cast<std::size_t>(n));
  return client.request.size() > largest_request ||
         client.request.find("\r\n\r\n") != std::string::npos ||
         client.request.find("\n\n") != std::string::npos;
}

void send_on(Client& client) {
  const ssize_t n = send(client.socket.get(), client.response.data() + client.sent,
                         client.response.size() - client.sent, MSG_NOSIGNAL);
  if (n < 0 && try_again(errno)) return;
  if (n < 0) {
    client.stage = Client::Stage::gone;
    return;
  }
  client.sent += static_cast<std::size_t>(n);
  if (client.sent < client.response.size()) return;
  shutdown(client.socket.get(), SHUT_WR);
  client.stage = Client::Stage::leaving;
}

int milliseconds_until(Clock::time_point then) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(then - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

MetricsServer::MetricsServer(std::uint16_t port, const std::string& address) {
  const auto refuse = [&](const char* advice) {
    throw std::runtime_error(fmt::format("metrics port {} at {} cannot be opened: {}; {}", port,
                                         address, std::strerror(errno), advice));
  };
  const Address where(address, port);
  Handle listener = open_socket(*where);
  if (listener.get() < 0) refuse("the system has no socket to give");
  // A port that was in use a moment ago may be used again.
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), (*where).ai_addr, (*where).ai_addrlen) != 0)
    refuse(errno == EACCES          ? "ports below 1024 need rights: choose one above"
           : errno == EADDRNOTAVAIL ? "choose an address of this machine"
                                    : "choose another port, or 0 for one that is free");
  if (listen(listener.get(), most_clients) != 0)
    refuse("choose another port, or 0 for one that is free");
  port_ = port_of(listener.get());
  if (pipe(wake_) != 0) refuse("too many files are open");
  Handle reading(wake_[0]);
  Handle writing(wake_[1]);
  keep_to_ourselves(wake_[0]);
  keep_to_ourselves(wake_[1]);
  listener_ = listener.get();

  // A new thread inherits the mask: signals are for those who wait for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  listener.release();
  reading.release();
  writing.release();
}

MetricsServer::~MetricsServer() {
  const char byte = 0;
  while (write(wake_[1], &byte, 1) < 0 && errno == EINTR) {
  }
  thread_.join();
  close(listener_);
  close(wake_[0]);
  close(wake_[1]);
}

void MetricsServer::publish(std::string text) {
  auto fresh = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex_);
  text_.swap(fresh);
}

std::string MetricsServer::respond(const std::string& request) const {
  if (request.size() > largest_request)
    return http("431 Request Header Fields Too Large", "the request is too long\n");
  const std::string_view line = std::string_view(request).substr(0, request.find_first_of("\r\n"));
  const auto method_end = line.find(' ');
  if (method_end == std::string_view::npos) return http("400 Bad Request", "no HTTP request\n");
  if (line.substr(0, method_end) != "GET")
    return http("405 Method Not Allowed", "only GET is served\n", "Allow: GET\r\n");
  std::string_view path = line.substr(method_end + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  if (path == "/") return http("200 OK", "kalstream: the metrics are at /metrics\n");
  if (path != "/metrics") return http("404 Not Found", "the metrics are at /metrics\n");
  const auto text = [this] {
    const std::lock_guard lock(mutex_);
    return text_;
  }();
  return http("200 OK", *text);
}

void MetricsServer::serve() {
  std::vector<Client> clients;
  std::vector<pollfd> polled;
  clients.reserve(most_clients);
  Clock::time_point accept_from = Clock::now();
  for (;;) {
    const auto now = Clock::now();
    std::erase_if(clients, [&](const Client& c) {
      return c.stage == Client::Stage::gone || now >= c.deadline;
    });
    // Full, or out of sockets: who comes waits in the system's queue.
    const bool listening = clients.size() < most_clients && now >= accept_from;
    Clock::time_point next = now < accept_from ? accept_from : Clock::time_point::max();
    polled.assign({{.fd = wake_[0], .events = POLLIN, .revents = 0},
                   {.fd = listening ? listener_ : -1, .events = POLLIN, .revents = 0}});
    for (const Client& client : clients) {
      const short events = client.stage == Client::Stage::writing ? POLLOUT : POLLIN;
      polled.push_back({.fd = client.socket.get(), .events = events, .revents = 0});
      next = std::min(next, client.deadline);
    }
    const int timeout = next == Clock::time_point::max() ? -1 : milliseconds_until(next);
    if (poll(polled.data(), polled.size(), timeout) < 0) continue;
    if (polled[0].revents != 0) return;

    for (std::size_t i = 0; i < clients.size(); ++i) {
      Client& client = clients[i];
      if (polled[i + 2].revents == 0) continue;
      if (client.stage != Client::Stage::writing && receive(client)) {
        client.response = respond(client.request);
        client.stage = Client::Stage::writing;
      }
      if (client.stage == Client::Stage::writing) send_on(client);
    }
    if (polled[1].revents == 0) continue;
    Handle socket(accept(listener_, nullptr, nullptr));
    if (socket.get() >= 0 && keep_to_ourselves(socket.get()))
      clients.push_back({.socket = std::move(socket), .deadline = Clock::now() + patience});
    else if (!try_again(errno) && errno != ECONNABORTED)
      accept_from = Clock::now() + pause;
  }
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
