#include "core/archive.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "kalstream/snapshot.h"

namespace kalstream {

static_assert(std::numeric_limits<double>::is_iec559);

namespace {

// Whether no exponent has all its bits: if one has, its lowest bit added makes it overflow into the
// sign's. Without a way out in the middle, so that many numbers are looked at at a time.
template <class Number, class Bits>
bool is_finite(std::span<const Number> numbers, Bits exponent) {
  const Bits lowest = exponent & (~exponent + 1);
  Bits sums = 0;
  for (const Number v : numbers) sums |= (std::bit_cast<Bits>(v) & exponent) + lowest;
  return sums >> (8 * sizeof(Bits) - 1) == 0;
}
bool is_finite(std::span<const double> numbers) {
  return is_finite(numbers, std::uint64_t{0x7ff0000000000000});
}
bool is_finite(std::span<const float> numbers) {
  return is_finite(numbers, std::uint32_t{0x7f800000});
}

}  // namespace

void Archive::require(bool holds) const {
  if (holds) return;
  if (!reading()) throw SnapshotError("this learner is beyond what a snapshot can hold");
  throw SnapshotError("the snapshot contradicts itself near byte " + std::to_string(at_) +
                      " of its contents");
}

void Archive::word(std::uint64_t& w) {
  std::array<std::byte, 8> bytes;
  if (!reading()) {
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(w >> (8 * k));
    to_->insert(to_->end(), bytes.begin(), bytes.end());
    return;
  }
  require(left() >= bytes.size());
  w = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k)
    w |= std::to_integer<std::uint64_t>(from_[at_ + k]) << (8 * k);
  at_ += bytes.size();
}

void Archive::flag(bool& b) {
  std::uint64_t w = b ? 1 : 0;
  word(w);
  require(w <= 1);
  if (reading()) b = w == 1;
}

void Archive::number(double& v, Condition holds) {
  auto bits = std::bit_cast<std::uint64_t>(v);
  word(bits);
  const auto read = std::bit_cast<double>(bits);
  require(holds(read));
  if (reading()) v = read;
}

void Archive::size(std::size_t n) {
  std::uint64_t w = n;
  word(w);
  require(w == n);
}

void Archive::numbers(std::span<double> v, Condition holds) {
  size(v.size());
  run(v, holds);
}

void Archive::run(std::span<double> v, Condition holds) {
  if constexpr (std::endian::native != std::endian::little) {
    for (double& one : v) number(one, holds);
  } else {  // they lie as they are kept
    move(std::as_writable_bytes(v));
    require(holds == finite ? is_finite(v) : std::all_of(v.begin(), v.end(), holds));
  }
}

// In memory, too, the first of two is the lower half of a word.
void Archive::run(std::span<float> v) {
  if constexpr (std::endian::native != std::endian::little) {
    for (std::size_t k = 0; k < v.size(); k += 2) {
      const bool pair = k + 1 < v.size();
      std::uint64_t bits = std::bit_cast<std::uint32_t>(v[k]);
      if (pair) bits |= std::uint64_t{std::bit_cast<std::uint32_t>(v[k + 1])} << 32;
      word(bits);
      if (reading()) {
        v[k] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (pair) v[k + 1] = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
        require(pair || bits >> 32 == 0);
      }
      require(std::isfinite(v[k]) && (!pair || std::isfinite(v[k + 1])));
    }
  } else {
    move(std::as_writable_bytes(v));
    require(is_finite(v));
    if (v.size() % 2 == 0) return;
    std::array<std::byte, sizeof(float)> rest{};  // of the last word
    move(rest);
    require(rest == decltype(rest){});
  }
}

// As they lie in memory.
void Archive::move(std::span<std::byte> bytes) {
  if (!reading()) {
    to_->insert(to_->end(), bytes.begin(), bytes.end());
    return;
  }
  require(left() >= bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from_.data() + at_, bytes.size());
  at_ += bytes.size();
}

void Archive::array(std::span<std::byte> bytes) {
  if (!reading()) return aside_->push_back(bytes);
  require(arrays_ < aside_->size() && (*aside_)[arrays_].size() == bytes.size());
  std::ranges::copy((*aside_)[arrays_++], bytes.begin());
}

void Archive::text(std::string_view& t) {
  std::uint64_t length = t.size();
  word(length);
  const auto* bytes = reinterpret_cast<const std::byte*>(t.data());
  if (!reading()) {
    to_->insert(to_->end(), bytes, bytes + t.size());
    return;
  }
  require(length <= left());
  t = {reinterpret_cast<const char*>(from_.data()) + at_, static_cast<std::size_t>(length)};
  at_ += t.size();
}

void Archive::text(std::string& t) {
  std::string_view view = t;
  text(view);
  if (reading()) t = view;
}

std::size_t Archive::length(std::size_t n) {
  constexpr std::size_t least = 8;  // bytes that each takes
  count(n);
  if (reading()) require(n <= left() / least);
  return n;
}

}  // namespace kalstream
