#include "trees/forest.h"

#include <algorithm>

namespace kalstream {

void Forest::add_up(std::span<const double> x, std::span<double> sum) const {
  std::ranges::fill(sum, 0.0);
  for (std::size_t tree = 0; tree < trees(); ++tree) {
    const auto v = values(tree, leaf_of(tree, x));
    for (std::size_t k = 0; k < outputs_; ++k) sum[k] += v[k];
  }
}

void Forest::reset() {
  std::ranges::fill(nodes_, TreeNode{});
  std::ranges::fill(values_, 0.0);
}

void Forest::exchange(Archive& archive) {
  const auto inner = static_cast<int>(leaves_ - 1);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    TreeNode& node = nodes_[n];
    archive.count(node.input, inputs_ > 0 ? inputs_ - 1 : 0);
    archive.number(node.threshold, Archive::usable);
    for (TreeNode::Child& c : node.child) {
      std::uint64_t number = static_cast<std::uint64_t>(c + static_cast<int>(leaves_));
      archive.count(number, leaves_ + static_cast<std::size_t>(inner));
      c = static_cast<TreeNode::Child>(static_cast<int>(number) - static_cast<int>(leaves_));
      archive.require(c < inner && (c < 0 || c > static_cast<int>(n) % inner));
    }
  }
  archive.run(values_);
}

}  // namespace kalstream
