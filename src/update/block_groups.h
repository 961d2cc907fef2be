// How the covariance blocks of θ are stored together, and the way of vectors between θ and them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/layout.h"
#include "kernels/kernels.h"

namespace kalstream {

/// Blocks stored together (kernels.h): up to eight of one size interleaved, or one in tiles,
/// whichever takes less memory. Vectors of a group have rows of eight numbers: the same entry of
/// every block, or eight entries of the one block. Padding is 0, also on the diagonal of P.
struct BlockGroup {
  std::size_t index;
  std::size_t first_block;
  std::size_t blocks;
  std::size_t n;  // weights in each block
  bool interleaved;
  std::size_t rows;    // of its vectors
  std::size_t offset;  // of its part of a vector of all groups
  std::size_t P_offset;
  std::size_t P_size;
  std::size_t first_segment;
  std::size_t segments;

  std::size_t size() const { return kernels::width * rows; }  ///< of a vector, with the padding
  /// Where entry r of the block in `lane` is in a vector …
  std::size_t place(std::size_t lane, std::size_t r) const {
    return interleaved ? kernels::width * r + lane : r;
  }
  /// … and entry (r, c) in P: below the diagonal, or in a tile on it, which has both halves.
  std::size_t place(std::size_t lane, std::size_t r, std::size_t c) const {
    constexpr std::size_t width = kernels::width;
    if (interleaved) return width * (r * (r - 1) / 2 + c) + lane;
    const std::size_t R = r / width;
    const std::size_t C = c / width;
    return width * width * (C * rows - C * (C + 1) / 2 + R) + width * (c % width) + r % width;
  }
};

class BlockGroups {
 public:
  explicit BlockGroups(std::vector<Block> blocks);

  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }
  std::size_t size() const { return groups_.size(); }
  const BlockGroup& operator[](std::size_t k) const { return groups_[k]; }
  const BlockGroup& of_block(std::size_t i) const;

  const std::vector<Block>& blocks() const { return blocks_; }
  /// Where in θ weight k of block i is.
  std::size_t place_in_theta(std::size_t i, std::size_t k) const;

  std::size_t vector_size() const;  ///< of a vector of all groups
  std::size_t P_size() const;       ///< of all groups
  std::size_t largest_in_tiles() const;

  /// A group's part of θ, or of anything of its shape, in the order of its vectors.
  void gather(const BlockGroup& g, const double* theta, double* out) const;

  /// θ⁺ = θ + Σ_k u_k w_k for the group's weights; whether they are of usable size. W: vectors one
  /// after the other; u: as many rows of eight numbers, one for each block.
  bool move(const BlockGroup& g, std::span<const double> u, const double* W, const double* theta,
            double* theta_new);

 private:
  // A run of weights in each block of a group, and where they are in θ.
  struct GroupSegment {
    std::size_t length;
    std::array<std::size_t, kernels::width> offsets;
  };

  void add(std::size_t first_block, std::size_t blocks, bool interleaved);
  std::span<const GroupSegment> segments(const BlockGroup& g) const {
    return std::span(segments_).subspan(g.first_segment, g.segments);
  }

  std::vector<Block> blocks_;
  std::vector<BlockGroup> groups_;
  std::vector<GroupSegment> segments_;
  std::vector<double> nothing_;  // rows of lanes without a block: read as 0, written in vain
  std::vector<double> waste_;
};

}  // namespace kalstream
