// What every fuzz target is made of.
//
//     KALSTREAM_FUZZ(csv) { … bytes … }     in tests/fuzz/csv_fuzz.cc, with seeds in corpus/csv/
//
// is all there is to a new one. `make fuzz` makes a libFuzzer program of each; `make test` runs the
// same functions over the seeds. A target must not throw: what the code under test promises to
// throw it catches, and anything else is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream::fuzz {

using Bytes = std::span<const std::byte>;

inline std::string as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What must hold for any input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

struct Target {
  const char* name;
  void (*run)(Bytes);
};

/// All targets linked into this program.
inline std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

struct Registration {
  Registration(const char* name, void (*run)(Bytes)) { targets().push_back({name, run}); }
};

}  // namespace kalstream::fuzz

#ifdef KALSTREAM_LIBFUZZER
#define KALSTREAM_FUZZ(name)                                                       \
  static void fuzz_##name(kalstream::fuzz::Bytes bytes);                           \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) { \
    fuzz_##name(std::as_bytes(std::span(data, n)));                                \
    return 0;                                                                      \
  }                                                                                \
  static void fuzz_##name(kalstream::fuzz::Bytes bytes)
#else
#define KALSTREAM_FUZZ(name)                                                          \
  static void fuzz_##name(kalstream::fuzz::Bytes bytes);                              \
  static const kalstream::fuzz::Registration registration_##name(#name, fuzz_##name); \
  static void fuzz_##name(kalstream::fuzz::Bytes bytes)
#endif
