// How a tree is grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/binned_inputs.h"
#include "trees/forest.h"

namespace kalstream {

/// Grows one tree from rows of inputs, each with slopes: a few gradients g of a loss, downhill, and
/// one curvature h. Of all leaves that there are, the one is split, by the question, that gains
/// most,
///
///     Σ (Σ g)²/(Σ h + prior)  over both sides, less the same of the leaf as a whole
///
/// until there are enough leaves. Sums are taken by the bins of the inputs, those of a leaf's
/// larger part as the difference of the leaf and its smaller part (LightGBM; Ke and others 2017).
///
/// One grower serves all models of a thread: what is in it lives no longer than one tree.
class TreeGrower {
 public:
  static TreeGrower& of_thread();

  /// Makes room for trees of so many leaves, from rows at places below `places`.
  void reserve(std::size_t places, std::size_t gradients, std::size_t inputs, std::size_t leaves);
  /// Begins such a tree.
  void start(std::size_t places, std::size_t gradients);
  /// The row at this place takes part. Its gradients, then the curvature: for the caller to fill
  /// in.
  std::span<double> add(std::size_t place) {
    order_.push_back(static_cast<std::uint32_t>(place));
    return std::span(slopes_).subspan(place * width_, width_);
  }

  /// Writes the tree. No leaf has fewer rows than `least`.
  void grow(const BinnedInputs& inputs, double prior, std::size_t least, std::span<TreeNode> nodes);
  /// The rows of a leaf of the last tree; none if it has fewer leaves.
  std::span<const std::uint32_t> rows(std::size_t leaf) const {
    if (leaf >= leaves_.size()) return {};
    return std::span(order_).subspan(leaves_[leaf].first, leaves_[leaf].rows());
  }

 private:
  struct Leaf {
    std::size_t first;      // of its rows in order_ …
    std::size_t last;       // … and behind them
    std::size_t histogram;  // its place
    int parent = -1;        // the inner node that leads to it
    std::size_t side = 0;   // of the parent
    double gain = 0;        // of its best question, which follows
    std::size_t f = 0;
    std::size_t bin = 0;
    std::size_t rows() const { return last - first; }
  };

  std::size_t histogram_size() const { return inputs_->size() * BinnedInputs::bins * (width_ + 1); }
  std::span<double> histogram(const Leaf& leaf) {
    return std::span(histograms_).subspan(leaf.histogram * histogram_size(), histogram_size());
  }
  void split(std::size_t leaf, std::size_t node);
  template <std::size_t fixed_width>
  void sum_up(const Leaf& leaf);
  void fill_histogram(const Leaf& leaf);
  template <std::size_t fixed_width>
  void find_question(Leaf& leaf);
  void judge(Leaf& leaf);

  const BinnedInputs* inputs_ = nullptr;
  std::size_t width_ = 0;  // of slopes: gradients, curvature; in histograms the rows follow
  double prior_ = 0;
  double least_ = 0;
  std::vector<double> slopes_;        // place × width
  std::vector<std::uint32_t> order_;  // places of the rows, leaf after leaf
  std::vector<double> histograms_;    // leaf × input × bin × (width + 1)
  std::vector<double> sums_;
  std::vector<Leaf> leaves_;
};

}  // namespace kalstream
