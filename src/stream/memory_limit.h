// How much memory a stream may take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kalstream {

/// Of "2GiB", "512M" or plain bytes: K, M, G and T are powers of 1024, with or without "iB" behind.
/// Throws std::invalid_argument, naming what to write.
std::uint64_t bytes_of(const std::string& text);

/// What the machine has, or, where that is less, what the control group of this process and those
/// around it allow (cgroup v1 and v2). `root` is where /proc and /sys are. Where nothing can be
/// known, 1 GiB.
std::uint64_t memory_allowed(const std::filesystem::path& root = "/");

}  // namespace kalstream
