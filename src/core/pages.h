// Memory from the system itself.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kalstream {

/// Bytes that are large and stay for long: on pages of their own, which go back to the system with
/// them. On the heap they would lie between what comes and goes, and leave holes that nothing fits.
class Pages {
 public:
  explicit Pages(std::span<const std::byte> bytes)
      : memory_(allocate(bytes.size())), size_(bytes.size()) {
    std::memcpy(memory_.get(), bytes.data(), bytes.size());
  }

  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    std::size_t mapped = 0;  // 0: on the heap all the same, since the system has no more pages

    void operator()(std::byte* memory) const {
#ifdef __linux__
      if (mapped > 0) {
        munmap(memory, mapped);
        return;
      }
#endif
      ::operator delete(memory);
    }
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocate(std::size_t size) {
#ifdef __linux__
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages != MAP_FAILED) return {static_cast<std::byte*>(pages), Free{size}};
#endif
    return {static_cast<std::byte*>(::operator new(size)), Free{}};
  }

  Memory memory_;
  std::size_t size_;
};

}  // namespace kalstream
