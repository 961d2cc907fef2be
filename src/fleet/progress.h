// What is committed with the offset of a partition, and how answers are chained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fleet/log.h"

namespace kalstream::fleet {

/// Of a partition whose inputs before `offset` are taken.
struct Progress {
  Offset offset = 0;
  /// No model has an input before this one that its snapshot does not include.
  Offset replay_from = 0;
  /// The last snapshot that counts, in the topic of states; −1: there is none.
  Offset state_upto = -1;
  std::uint64_t checksum = 0;  ///< of all chains
  std::string engine;          ///< that they are the answers of

  bool operator==(const Progress&) const = default;
};

std::string metadata_of(const Progress& progress);
/// Throws DataError if it is not what metadata_of() writes.
Progress progress_of(const Committed& committed);

/// A key's answers in one number: each goes on from the one before it.
using Chain = std::uint64_t;
inline constexpr Chain first_chain = 0;
Chain chained(Chain before, std::string_view answer);
/// What a key adds to the checksum.
std::uint64_t part_of_checksum(std::string_view key, Chain chain);

/// "0123456789abcdef", and back. Throws DataError.
std::string hex_of(std::uint64_t number);
std::uint64_t from_hex(std::string_view text);
/// Throws DataError.
Offset offset_of(std::string_view text);

/// What results depend on to the bit, besides inputs and settings: the numerics' own version, the
/// kernels at work and the mathematical library.
std::string engine_identity();

}  // namespace kalstream::fleet
