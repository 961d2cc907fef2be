// Numbers too small for a full mantissa, taken as 0 while a step runs.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace kalstream {

/// From construction to destruction denormal numbers count as 0 in this thread: a processor spends
/// a hundred cycles on each, and a decaying moment or a saturated gate makes them by the thousand.
/// What the caller had set is restored. Elsewhere than on x86 it does nothing.
class FlushDenormals {
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
#ifdef __SSE2__
  FlushDenormals() : before_(_mm_getcsr()) {
    if ((before_ & flush) != flush) _mm_setcsr(before_ | flush);
  }
  ~FlushDenormals() {
    if ((before_ & flush) != flush) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned flush = _MM_FLUSH_ZERO_ON | 0x0040;  // results, and arguments
  unsigned before_;
#else
  FlushDenormals() = default;
  ~FlushDenormals() {}  // NOLINT: an unused variable would be one
#endif
};

}  // namespace kalstream
