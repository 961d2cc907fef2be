// How much memory this process may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

namespace kalstream {

/// The number of bytes that "2GiB", "512M" or a plain number means: K, M, G and T are powers of
/// 1024, with or without "iB" behind. Throws std::invalid_argument, saying what to write.
std::uint64_t bytes_of(const std::string& text);

/// The memory of the machine in bytes or, where that is less, the limit of this process's control
/// group and of the groups around it (cgroup v1 and v2). `root` is the folder that contains proc
/// and sys; tests pass a folder of their own. Returns 1 GiB where nothing can be found out.
std::uint64_t memory_allowed(const std::filesystem::path& root = "/");

class NotEnoughMemory : public std::bad_alloc {
 public:
  explicit NotEnoughMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Throws NotEnoughMemory if `what` needs so many bytes that hardly any of those allowed would be
/// left: the operating system would promise them, and end the process when they are used.
void require_memory(double bytes, const std::string& what, const std::string& advice);

}  // namespace kalstream
