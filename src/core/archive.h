// The way of a learner's state into a snapshot and back.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/finite.h"

namespace kalstream {

/// Writes or reads, by the same calls: a class names its state once, in exchange(Archive&), and
/// what is read cannot drift apart from what is written. All numbers are 64-bit words, the lowest
/// byte first on any machine.
///
/// What is read may come from anywhere. Nothing is read beyond the end, or into more than the
/// caller has; what breaks the caller's conditions throws SnapshotError. Writing checks the same,
/// so that nothing is written that could not be read.
class Archive {
 public:
  using Condition = bool (*)(double);

  explicit Archive(std::vector<std::byte>& to) : to_(&to) {}
  explicit Archive(std::span<const std::byte> from) : from_(from) {}
  /// From one object to another that is made alike, in this process and while the first stands
  /// still: what is large goes from array to array, and `aside` has those of the first meanwhile.
  Archive(std::vector<std::byte>& to, std::vector<std::span<const std::byte>>& aside)
      : to_(&to), aside_(&aside) {}
  Archive(std::span<const std::byte> from, std::vector<std::span<const std::byte>>& aside)
      : from_(from), aside_(&aside) {}

  /// Samples, places, sizes: up to `most`; by itself a number that a double can still count.
  template <std::unsigned_integral Integer>
  void count(Integer& n, std::uint64_t most = std::uint64_t{1} << 53) {
    std::uint64_t w = n;
    word(w);
    require(w <= most);
    if (reading()) n = static_cast<Integer>(w);
  }
  void word(std::uint64_t& w);  ///< any 64 bits
  void flag(bool& b);
  void number(double& v, Condition holds = finite);
  /// Must be what it is on both sides.
  void size(std::size_t n);
  /// As many as there are: their number is not a matter of the snapshot.
  void numbers(std::span<double> v, Condition holds = finite);
  /// The same without saying how many.
  void run(std::span<double> v, Condition holds = finite);
  void run(std::span<float> v);    ///< finite ones, two in a word
  void text(std::string_view& t);  ///< when reading, a view into what is read
  void text(std::string& t);
  /// How many things a list has, each of at least 8 bytes: no more can be read than there are.
  std::size_t length(std::size_t n);

  /// Whether an array may go as it lies in memory, by array(): in no order that anybody else knows.
  bool takes_arrays() const { return aside_ != nullptr; }
  void array(std::span<std::byte> bytes);

  bool reading() const { return to_ == nullptr; }
  /// Throws SnapshotError unless it holds.
  void require(bool holds) const;
  /// What is still to be read.
  std::size_t left() const { return from_.size() - at_; }

  static bool any(double) { return true; }
  static bool finite(double v) { return std::isfinite(v); }
  static bool usable(double v) { return std::abs(v) <= largest_magnitude; }
  static bool positive(double v) { return v > 0 && std::isfinite(v); }
  static bool not_negative(double v) { return v >= 0 && std::isfinite(v); }
  static bool fraction(double v) { return v >= 0 && v <= 1; }

 private:
  void move(std::span<std::byte> bytes);

  std::vector<std::byte>* to_ = nullptr;
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  std::vector<std::span<const std::byte>>* aside_ = nullptr;
  std::size_t arrays_ = 0;  // read so far
};

}  // namespace kalstream
