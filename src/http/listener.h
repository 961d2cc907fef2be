// The socket that a server listens at.
#pragma once

#include <cstdint>
#include <string>

namespace kalstream::http {

/// Of a numeric address, 127.0.0.0/8 or ::1: nobody else can reach it. Throws std::runtime_error if
/// it is not numeric.
bool is_loopback(const std::string& address);

/// A socket that listens at a numeric address; the caller closes it. Port 0: a free one. Throws
/// std::runtime_error, naming port and address and what to do.
int open_listener(const std::string& address, std::uint16_t port);

/// The port that a socket has; 0: that cannot be told.
std::uint16_t port_of(int socket);

}  // namespace kalstream::http
