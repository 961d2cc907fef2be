// How bytes are kept: with a beginning that tells what they are, their length and a checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// One kind of file.
struct Envelope {
  std::array<unsigned char, 8> begins_with;  ///< 0x89, letters, and line ends that spoil as text
  /// Number of the layout of the contents. It is the only one that is read: it is the first that
  /// was ever released.
  std::uint64_t format;
  const char* what;  ///< "snapshot", in messages
};

/// Appends the first bytes, format, a place for the length; where it begins. The contents follow,
/// then …
std::size_t begin(const Envelope& envelope, std::vector<std::byte>& bytes);
/// … once the length is known, that, and a place for a checksum of all of it …
void close(std::vector<std::byte>& bytes, std::size_t begins);
/// … which takes longer than the rest, and may be made later: of a whole envelope that is closed.
void seal(std::span<std::byte> envelope);

/// Appends a text (see Archive::text) of what `write` appends.
void append_text(std::vector<std::byte>& bytes, const std::function<void()>& write);

/// Of an envelope and one that lies within it, both closed: in the time of one.
void seal_both(std::span<std::byte> outer, std::span<std::byte> inner);

/// Bytes that have not left the process, or lie in an envelope that was opened, need no other sum.
enum class Checksum : std::uint8_t { checked, passed_over };

/// To read the contents; throws SnapshotError, saying what is wrong, unless all of it is sound.
Archive open(const Envelope& envelope, std::span<const std::byte> bytes,
             Checksum checksum = Checksum::checked);

/// Whether they begin like this kind.
bool begins_like(const Envelope& envelope, std::span<const std::byte> bytes);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace kalstream
