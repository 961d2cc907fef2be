// Regression trees, and the sum of many of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// An inner node of a tree: whether an input is above a threshold tells which child comes next.
/// Children come after their parents, so that every walk ends.
struct TreeNode {
  /// A child that is the inner node c is told by c, one that is leaf l by ~l.
  using Child = std::int16_t;

  std::uint32_t input = 0;
  std::array<Child, 2> child{-1, -1};  ///< the input is at most the threshold; it is above
  double threshold = 0;
};

/// As many trees as a plan says, each of at most `leaves` leaves with one value per output. At
/// first every tree is one leaf, whose values are 0.
class Forest {
 public:
  Forest(std::size_t inputs, std::size_t trees, std::size_t leaves, std::size_t outputs)
      : inputs_(inputs),
        leaves_(leaves),
        outputs_(outputs),
        nodes_(trees * (leaves - 1)),
        values_(trees * leaves * outputs) {}

  std::size_t trees() const { return nodes_.size() / (leaves_ - 1); }
  std::size_t leaves() const { return leaves_; }
  std::size_t outputs() const { return outputs_; }

  std::span<TreeNode> nodes(std::size_t tree) {
    return std::span(nodes_).subspan(tree * (leaves_ - 1), leaves_ - 1);
  }
  std::span<double> values(std::size_t tree, std::size_t leaf) {
    return std::span(values_).subspan((tree * leaves_ + leaf) * outputs_, outputs_);
  }
  std::span<const double> values(std::size_t tree, std::size_t leaf) const {
    return std::span(values_).subspan((tree * leaves_ + leaf) * outputs_, outputs_);
  }

  /// The leaf of a tree that inputs x lead to.
  std::size_t leaf_of(std::size_t tree, std::span<const double> x) const {
    const TreeNode* const nodes = &nodes_[tree * (leaves_ - 1)];
    int at = 0;
    do {
      const TreeNode& node = nodes[at];
      at = node.child[x[node.input] > node.threshold ? 1 : 0];
    } while (at >= 0);
    return static_cast<std::size_t>(~at);
  }

  /// The sum of all trees for inputs x.
  void add_up(std::span<const double> x, std::span<double> sum) const;

  void reset();
  void exchange(Archive& archive);

 private:
  std::size_t inputs_;
  std::size_t leaves_;
  std::size_t outputs_;
  std::vector<TreeNode> nodes_;  // tree × (leaves − 1)
  std::vector<double> values_;   // tree × leaf × output
};

}  // namespace kalstream
