// The socket that a server listens at.
#pragma once

#include <cstdint>
#include <string>

namespace kalstream::http {

/// At a numeric address. Throws std::runtime_error, naming port and address and what to do.
int open_listener(const std::string& address, std::uint16_t port);
std::uint16_t port_of(int socket);
/// 127.0.0.0/8 and ::1: nobody else can reach it.
bool is_loopback(const std::string& address);

}  // namespace kalstream::http
