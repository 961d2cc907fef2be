#include "kernels/dispatch.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#ifdef KALSTREAM_X86
#include <cpuid.h>
#endif

namespace kalstream::kernels {

extern const Kernels portable;
#ifdef KALSTREAM_X86
extern const Kernels avx2;
extern const Kernels avx512;
#endif

namespace {

#ifdef KALSTREAM_X86
// What the processor has, and what the system keeps of its registers when it changes threads. By
// hand, since __builtin_cpu_supports is not in every compiler's library (Zig's).
struct Processor {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, DQ and VL

  Processor() {
    constexpr std::uint32_t fma = 1U << 12, keeps_registers = 1U << 27;                 // leaf 1
    constexpr std::uint32_t two = 1U << 5, f = 1U << 16, dq = 1U << 17, vl = 1U << 31;  // leaf 7
    constexpr std::uint32_t kept_256 = 0x06, kept_512 = 0xe6;
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & keeps_registers) == 0) return;
    const bool has_fma = (c & fma) != 0;
    std::uint32_t kept = 0, upper = 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(upper) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
    avx2 = has_fma && (b & two) != 0 && (kept & kept_256) == kept_256;
    avx512 =
        avx2 && (b & f) != 0 && (b & dq) != 0 && (b & vl) != 0 && (kept & kept_512) == kept_512;
  }
};
#endif

struct Targets {
  Targets() {
#ifdef KALSTREAM_X86
    const Processor here;
    if (here.avx512) all[count++] = &avx512;
    if (here.avx2) all[count++] = &avx2;
#endif
    all[count++] = &portable;
  }
  const Kernels* named(std::string_view name) const {
    for (std::size_t k = 0; k < count; ++k)
      if (name == all[k]->name) return all[k];
    return nullptr;
  }

  std::array<const Kernels*, 4> all{};
  std::size_t count = 0;
};

Targets& targets() {
  static Targets here;
  return here;
}

std::atomic<const Kernels*> chosen = nullptr;

// Several threads may choose at the same time: they choose the same.
const Kernels& choose() {
  const char* wish = std::getenv("KALSTREAM_TARGET");
  const Kernels* kernels = wish == nullptr ? nullptr : targets().named(wish);
  if (kernels == nullptr) kernels = targets().all.front();
  chosen.store(kernels, std::memory_order_relaxed);
  return *kernels;
}

}  // namespace

const Kernels& active() {
  const Kernels* kernels = chosen.load(std::memory_order_relaxed);
  return kernels != nullptr ? *kernels : choose();
}

std::span<const Kernels* const> available_targets() {
  return std::span(targets().all).first(targets().count);
}

bool add_target(const Kernels& kernels) {
  Targets& t = targets();
  if (t.count == t.all.size()) return false;
  t.all[t.count++] = &kernels;
  return true;
}

std::string_view target_name() { return active().name; }

bool use_target(std::string_view name) {
  const Kernels* kernels = targets().named(name);
  if (kernels == nullptr) return false;
  chosen.store(kernels, std::memory_order_relaxed);
  return true;
}

}  // namespace kalstream::kernels
