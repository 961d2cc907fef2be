// What the program has taken from the heap.
#pragma once

#include <cstddef>

#ifdef __linux__
#include <malloc.h>
#endif

namespace kalstream {

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
