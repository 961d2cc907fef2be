// Arrays the vector kernels like: aligned to cache lines, large ones on huge pages.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kalstream {

/// What every pass over a covariance touches is dominated by address translation unless its pages
/// are large; the system may refuse, which costs nothing but time.
template <class T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: all of them are the same

  T* allocate(std::size_t n) {
    void* p = ::operator new(n * sizeof(T), alignment(n));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (is_large(n)) madvise(p, n * sizeof(T), MADV_HUGEPAGE);
#endif
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) { ::operator delete(p, alignment(n)); }

  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t huge_page = std::size_t{1} << 21;
  static constexpr bool is_large(std::size_t n) { return n * sizeof(T) >= 2 * huge_page; }
  static constexpr std::align_val_t alignment(std::size_t n) {
    return std::align_val_t{is_large(n) ? huge_page : 64};
  }
};

using AlignedVector = std::vector<double, AlignedAllocator<double>>;
using SingleVector = std::vector<float, AlignedAllocator<float>>;

}  // namespace kalstream
