// A number that tells bytes from others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kalstream {

/// FNV-1a, 64 bits: h ← (h ⊕ byte) · 0x100000001b3 for each byte. Each step can be undone, so no
/// single changed byte goes unnoticed; it finds accidents, not malice. Bytes that lie in several
/// places: each call goes on from the sum of those before.
inline std::uint64_t fnv1a(std::span<const std::byte> bytes,
                           std::uint64_t before = 0xcbf29ce484222325) {
  std::uint64_t hash = before;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  return hash;
}
/// Two sums that both go on over the same bytes.
struct Fnv1aSums {
  std::uint64_t first;
  std::uint64_t second;
};
inline Fnv1aSums fnv1a_of_two(std::span<const std::byte> bytes, std::uint64_t first,
                              std::uint64_t second) {
  for (const std::byte b : bytes) {
    first = (first ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
    second = (second ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  }
  return {first, second};
}
inline std::uint64_t fnv1a(std::string_view text) { return fnv1a(std::as_bytes(std::span(text))); }

}  // namespace kalstream
