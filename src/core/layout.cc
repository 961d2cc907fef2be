#include "core/layout.h"

#include <numeric>

namespace kalstream {

std::size_t block_size(const Block& block) {
  return std::accumulate(block.begin(), block.end(), std::size_t{0},
                         [](std::size_t n, const Segment& s) { return n + s.length; });
}

std::vector<Block> ParameterLayout::blocks(Partition partition) const {
  if (partition == Partition::full) return {{{0, size()}}};

  const std::size_t row = gate_row_size();
  std::vector<Block> blocks;
  switch (partition) {
    case Partition::node:
      for (std::size_t node = 0; node < gate_rows(); ++node) blocks.push_back({{node * row, row}});
      break;
    case Partition::unit:
      for (std::size_t unit = 0; unit < n_s; ++unit)
        for (std::size_t gate = 0; gate < gates(); ++gate) {
          if (gate == 0) blocks.emplace_back();
          blocks.back().push_back({(gate * n_s + unit) * row, row});
        }
      break;
    default:  // gate; a linear model has none
      for (std::size_t gate = 0; gate < gates() && n_s > 0; ++gate)
        blocks.push_back({{gate * n_s * row, n_s * row}});
  }
  // Output rows never meet in one d̂_k; a block for each loses nothing but the gate form's symmetry.
  for (std::size_t k = 0; k < n_d; ++k) blocks.push_back({{output_row(k), output_row_size()}});
  return blocks;
}

}  // namespace kalstream
