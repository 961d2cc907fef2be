#include "http/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace kalstream::http {
namespace {

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Found look_up(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    throw std::runtime_error(fmt::format(
        "'{}' is not a numeric address; 127.0.0.1 is this machine alone, 0.0.0.0 lets others in",
        address));
  return {found, freeaddrinfo};
}

}  // namespace

bool is_loopback(const std::string& address) {
  const Found where = look_up(address, 0);
  if (where->ai_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, where->ai_addr, sizeof(four));
    return ntohl(four.sin_addr.s_addr) >> 24 == 127;
  }
  if (where->ai_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, where->ai_addr, sizeof(six));
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

int open_listener(const std::string& address, std::uint16_t port) {
  constexpr int waiting = 511;  // connections that nobody has accepted yet
  const Found where = look_up(address, port);
  int listener = -1;
  const auto refuse = [&](const char* advice) {
    const int why = errno;
    if (listener >= 0) close(listener);
    throw std::runtime_error(fmt::format("port {} at {} cannot be opened: {}; {}", port, address,
                                         std::strerror(why), advice));
  };
  listener = socket(where->ai_family, where->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    where->ai_protocol);
  if (listener < 0) refuse("the system has no socket to give");
  // A port that was in use a moment ago may be used again.
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener, where->ai_addr, where->ai_addrlen) != 0)
    refuse(errno == EACCES          ? "ports below 1024 need rights: choose one above"
           : errno == EADDRNOTAVAIL ? "choose an address of this machine"
                                    : "choose another port, or 0 for one that is free");
  if (listen(listener, waiting) != 0) refuse("choose another port, or 0 for one that is free");
  return listener;
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

}  // namespace kalstream::http
