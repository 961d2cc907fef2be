#include "core/envelope.h"

#include <algorithm>
#include <string>

#include "core/hash.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

constexpr std::size_t word_size = 8;
constexpr std::size_t header_size = 3 * word_size;  // the first bytes, format, length

// The word at a place that was left for it.
void put_word(std::span<std::byte> bytes, std::size_t at, std::uint64_t w) {
  std::vector<std::byte> word;
  Archive(word).word(w);
  std::copy(word.begin(), word.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

bool begins_like(const Envelope& envelope, std::span<const std::byte> bytes) {
  const auto first = std::as_bytes(std::span(envelope.begins_with));
  const std::size_t known = std::min(bytes.size(), first.size());
  return known > 0 && std::equal(bytes.begin(), bytes.begin() + known, first.begin());
}

std::size_t begin(const Envelope& envelope, std::vector<std::byte>& bytes) {
  const std::size_t begins = bytes.size();
  const auto first = std::as_bytes(std::span(envelope.begins_with));
  bytes.insert(bytes.end(), first.begin(), first.end());
  std::uint64_t format = envelope.format;
  std::uint64_t length = 0;
  Archive to(bytes);
  to.word(format);
  to.word(length);
  return begins;
}

void close(std::vector<std::byte>& bytes, std::size_t begins) {
  std::uint64_t no_sum = 0;
  Archive(bytes).word(no_sum);
  put_word(bytes, begins + header_size - word_size, bytes.size() - begins);
}

void seal(std::span<std::byte> envelope) {
  const std::size_t contents = envelope.size() - word_size;
  put_word(envelope, contents, fnv1a(envelope.first(contents)));
}

// Each step of a sum waits for the one before it: two of them wait at the same time.
void seal_both(std::span<std::byte> outer, std::span<std::byte> inner) {
  const auto begins = static_cast<std::size_t>(inner.data() - outer.data());
  const std::size_t contents = inner.size() - word_size;
  const Fnv1aSums sums =
      fnv1a_of_two(inner.first(contents), fnv1a(outer.first(begins)), fnv1a(std::string_view{}));
  put_word(inner, contents, sums.second);
  const std::size_t end = outer.size() - word_size;
  const auto rest = outer.subspan(begins + contents, end - begins - contents);
  put_word(outer, end, fnv1a(rest, sums.first));
}

void append_text(std::vector<std::byte>& bytes, const std::function<void()>& write) {
  const std::size_t at = bytes.size();
  std::uint64_t length = 0;
  Archive(bytes).word(length);
  write();
  put_word(bytes, at, bytes.size() - at - word_size);
}

Archive open(const Envelope& envelope, std::span<const std::byte> bytes, Checksum checksum) {
  const std::string the = std::string("the ") + envelope.what;
  const std::string none = std::string("this is not a kalstream ") + envelope.what;
  if (!begins_like(envelope, bytes)) throw SnapshotError(none);
  const auto truncated = [&](const std::string& wanted) {
    throw SnapshotError(the + " is cut off: " + std::to_string(bytes.size()) + " bytes of " +
                        wanted);
  };
  if (bytes.size() < header_size + word_size) truncated("at least 32");

  Archive header(bytes.subspan(envelope.begins_with.size(), 2 * word_size));
  std::uint64_t format = 0;
  std::uint64_t length = 0;
  header.word(format);
  header.word(length);
  if (format > envelope.format)
    throw SnapshotError(the + " was made by a newer version of kalstream: its format is " +
                        std::to_string(format) + ", and this one reads format " +
                        std::to_string(envelope.format));
  if (format < envelope.format)
    throw SnapshotError(the + " was written by a kalstream before version 0.3 (its format is " +
                        std::to_string(format) + ") and cannot be read; learn the stream anew");
  if (bytes.size() < length) truncated(std::to_string(length));
  if (bytes.size() > length)
    throw SnapshotError(the + " is followed by other bytes: it should have " +
                        std::to_string(length));
  const auto summed = bytes.first(bytes.size() - word_size);
  std::uint64_t sum = 0;
  Archive(bytes.last(word_size)).word(sum);
  if (checksum == Checksum::checked && sum != fnv1a(summed))
    throw SnapshotError(the + " is damaged: its checksum does not match");
  return Archive(summed.subspan(header_size));
}

}  // namespace kalstream
