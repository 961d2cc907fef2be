// How much memory this process may use, and what it has taken from the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

#ifdef __linux__
#include <malloc.h>
#endif

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

/// Bytes in use, with what the heap needs for itself, as the C library counts them; 0 where it does
/// not tell.
inline std::size_t heap_in_use() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/// What is free in it goes back to the system, page by page, where the C library can do that.
inline void give_back_free_heap() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace kalstream
