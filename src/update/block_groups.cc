#include "update/block_groups.h"

#include <algorithm>
#include <utility>

#include "core/finite.h"

namespace kalstream {

using kernels::active;
using kernels::width;

namespace {

std::size_t rows_of_eight(std::size_t n) { return (n + width - 1) / width; }
std::size_t interleaved_size(std::size_t n) { return width * (n * (n - 1) / 2); }
std::size_t tiled_size(std::size_t n) {
  return width * width * (rows_of_eight(n) * (rows_of_eight(n) + 1) / 2);
}

}  // namespace

BlockGroups::BlockGroups(std::vector<Block> blocks) : blocks_(std::move(blocks)) {
  for (std::size_t i = 0; i < blocks_.size();) {
    const std::size_t n = block_size(blocks_[i]);
    std::size_t alike = 1;
    while (alike < width && i + alike < blocks_.size() && block_size(blocks_[i + alike]) == n)
      ++alike;
    const bool interleaved = interleaved_size(n) < alike * tiled_size(n);
    add(i, interleaved ? alike : 1, interleaved);
    i += groups_.back().blocks;
  }
  std::size_t longest = 0;
  for (const BlockGroup& g : groups_)
    for (const GroupSegment& s : segments(g))
      if (g.interleaved) longest = std::max(longest, s.length);
  nothing_.resize(longest);
  waste_.resize(longest);
}

void BlockGroups::add(std::size_t first_block, std::size_t blocks, bool interleaved) {
  const Block& first = blocks_[first_block];
  const std::size_t n = block_size(first);
  groups_.push_back({.index = groups_.size(),
                     .first_block = first_block,
                     .blocks = blocks,
                     .n = n,
                     .interleaved = interleaved,
                     .rows = interleaved ? n : rows_of_eight(n),
                     .offset = groups_.empty() ? 0 : vector_size(),
                     .P_offset = groups_.empty() ? 0 : P_size(),
                     .P_size = interleaved ? interleaved_size(n) : tiled_size(n),
                     .first_segment = segments_.size(),
                     .segments = first.size()});
  for (std::size_t k = 0; k < first.size(); ++k) {
    GroupSegment segment{.length = first[k].length};
    for (std::size_t l = 0; l < blocks; ++l)
      segment.offsets[l] = blocks_[first_block + l][k].offset;
    segments_.push_back(segment);
  }
}

std::size_t BlockGroups::vector_size() const {
  return groups_.back().offset + groups_.back().size();
}

std::size_t BlockGroups::P_size() const { return groups_.back().P_offset + groups_.back().P_size; }

std::size_t BlockGroups::largest_in_tiles() const {
  std::size_t largest = 0;
  for (const BlockGroup& g : groups_)
    if (!g.interleaved) largest = std::max(largest, g.n);
  return largest;
}

const BlockGroup& BlockGroups::of_block(std::size_t i) const {
  return *std::find_if(groups_.begin(), groups_.end(),
                       [&](const BlockGroup& g) { return i < g.first_block + g.blocks; });
}

std::size_t BlockGroups::place_in_theta(std::size_t i, std::size_t k) const {
  auto s = blocks_[i].begin();
  for (; k >= s->length; ++s) k -= s->length;
  return s->offset + k;
}

void BlockGroups::gather(const BlockGroup& g, const double* theta, double* out) const {
  for (const GroupSegment& s : segments(g)) {
    if (!g.interleaved) {
      out = std::copy_n(theta + s.offsets[0], s.length, out);
      continue;
    }
    std::array<const double*, width> rows;
    rows.fill(nothing_.data());
    for (std::size_t l = 0; l < g.blocks; ++l) rows[l] = theta + s.offsets[l];
    active().interleave(s.length, rows.data(), width, out);
    out += width * s.length;
  }
  if (!g.interleaved) std::fill_n(out, g.size() - g.n, 0.0);
}

bool BlockGroups::move(const BlockGroup& g, std::span<const double> u, const double* W,
                       const double* theta, double* theta_new) {
  const std::size_t n_w = u.size() / width;
  bool usable = true;
  for (const GroupSegment& s : segments(g)) {
    if (!g.interleaved) {
      const double* from = theta + s.offsets[0];
      double* to = theta_new + s.offsets[0];
      for (std::size_t k = 0; k < n_w; ++k, from = to)
        usable &= active().move_within(s.length, u[width * k], W + k * g.size(), from,
                                       largest_magnitude, to);
      W += s.length;
      continue;
    }
    std::array<const double*, width> rows;
    std::array<double*, width> rows_new;
    rows.fill(nothing_.data());
    rows_new.fill(waste_.data());
    for (std::size_t l = 0; l < g.blocks; ++l) {
      rows[l] = theta + s.offsets[l];
      rows_new[l] = theta_new + s.offsets[l];
    }
    usable &= active().add_interleaved(s.length, n_w, u.data(), W, g.size(), rows.data(),
                                       largest_magnitude, rows_new.data());
    W += width * s.length;
  }
  return usable;
}

}  // namespace kalstream
