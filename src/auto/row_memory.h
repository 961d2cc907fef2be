// The last rows of a stream, for those who learn them again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// Rows of numbers; the newest takes the place of the oldest.
class RowMemory {
 public:
  RowMemory(std::size_t numbers, std::size_t capacity)
      : numbers_(numbers), capacity_(capacity), rows_(capacity * numbers) {}

  /// Room for one more row, to be written at once.
  std::span<double> push() {
    ++count_;
    size_ = std::min(size_ + 1, capacity_);
    return std::span(rows_).subspan(place(1) * numbers_, numbers_);
  }

  std::size_t size() const { return size_; }
  std::uint64_t count() const { return count_; }  ///< all there have been

  /// Where the row `age` ≥ 1 steps ago lies, and what lies there.
  std::size_t place(std::size_t age) const {
    return static_cast<std::size_t>((count_ - age) % capacity_);
  }
  std::span<const double> at(std::size_t place) const {
    return std::span(rows_).subspan(place * numbers_, numbers_);
  }

  /// Forgets all but the newest.
  void keep(std::size_t newest) { size_ = std::min(size_, newest); }

  void exchange(Archive& archive) {
    archive.count(count_);
    archive.count(size_, std::min<std::uint64_t>(count_, capacity_));
    for (std::size_t age = size_; age > 0; --age)
      archive.run(std::span(rows_).subspan(place(age) * numbers_, numbers_), Archive::any);
  }

 private:
  std::size_t numbers_;
  std::size_t capacity_;
  std::uint64_t count_ = 0;
  std::size_t size_ = 0;
  std::vector<double> rows_;
};

}  // namespace kalstream
