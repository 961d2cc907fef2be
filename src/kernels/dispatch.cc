#include "kernels/dispatch.h"

#include <array>
#include <atomic>
#include <cstdlib>

namespace kalstream::kernels {

extern const Kernels reference;
extern const Kernels portable;
#ifdef KALSTREAM_X86
extern const Kernels avx2;
extern const Kernels avx512;
#endif

namespace {

struct Targets {
  Targets() {
#ifdef KALSTREAM_X86
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      all[count++] = &avx512;
    if (has_avx2) all[count++] = &avx2;
#endif
    all[count++] = &portable;
    all[count++] = &reference;
  }
  const Kernels* named(std::string_view name) const {
    for (std::size_t k = 0; k < count; ++k)
      if (name == all[k]->name) return all[k];
    return nullptr;
  }

  std::array<const Kernels*, 4> all{};
  std::size_t count = 0;
};

const Targets& targets() {
  static const Targets here;
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

std::string_view target_name() { return active().name; }

bool use_target(std::string_view name) {
  const Kernels* kernels = targets().named(name);
  if (kernels == nullptr) return false;
  chosen.store(kernels, std::memory_order_relaxed);
  return true;
}

}  // namespace kalstream::kernels
