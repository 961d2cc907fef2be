// The same behind the checksum, which only a forged snapshot passes: the first bytes, format,
// length and checksum are corrected.
#include <cstring>

#include "core/hash.h"
#include "life.h"

KALSTREAM_FUZZ(forged_snapshot) {
  constexpr std::size_t header = 24;
  constexpr std::size_t word = 8;
  if (bytes.size() < header + word) return;
  std::vector<std::byte> forged(bytes.begin(), bytes.end());
  const auto put = [&](std::size_t at, std::uint64_t w) {
    for (std::size_t k = 0; k < word; ++k) forged[at + k] = static_cast<std::byte>(w >> (8 * k));
  };
  std::memcpy(forged.data(), "\x89KALS\r\n\x1a", word);
  put(word, 6);
  put(2 * word, forged.size());
  const std::span<const std::byte> all(forged);
  put(forged.size() - word, kalstream::fnv1a(all.first(all.size() - word)));
  kalstream::fuzz::expect_loads_or_refuses(forged);
}
