// Numbers too small for a full mantissa, taken as 0 while a step runs.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace kalstream {

/// How this thread treats denormal numbers. Elsewhere than on x86 there is no choice.
class DenormalMode {
 public:
#ifdef __SSE2__
  static DenormalMode current() { return DenormalMode(_mm_getcsr() & both); }
  static DenormalMode flush() { return DenormalMode(both); }
  void apply() const { _mm_setcsr((_mm_getcsr() & ~both) | bits_); }
#else
  static DenormalMode current() { return {}; }
  static DenormalMode flush() { return {}; }
  void apply() const {}
#endif
  DenormalMode() = default;
  bool operator==(const DenormalMode&) const = default;

 private:
  static constexpr unsigned both = 0x8040;  // MXCSR: results flushed to 0, arguments taken as 0
  explicit DenormalMode(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

/// From construction to destruction denormal numbers count as 0 in this thread: a processor spends
/// a hundred cycles on each, and a decaying moment or a saturated gate makes them by the thousand.
/// What the caller had set is restored.
class FlushDenormals {
 public:
  FlushDenormals() : before_(DenormalMode::current()) {
    if (before_ != DenormalMode::flush()) DenormalMode::flush().apply();
  }
  ~FlushDenormals() {
    if (before_ != DenormalMode::flush()) before_.apply();
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  DenormalMode before_;
};

}  // namespace kalstream
