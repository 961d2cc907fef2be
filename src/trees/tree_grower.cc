#include "trees/tree_grower.h"

#include <algorithm>

namespace kalstream {
namespace {

// Of questions that part the rows alike the first one counts, however sums are rounded.
constexpr double more = 1 + 1e-6;

}  // namespace

TreeGrower& TreeGrower::of_thread() {
  thread_local TreeGrower one;
  return one;
}

void TreeGrower::reserve(std::size_t places, std::size_t gradients, std::size_t inputs,
                         std::size_t leaves) {
  const auto grow_to = [](std::vector<double>& v, std::size_t size) {
    if (v.size() < size) v.resize(size);
  };
  grow_to(slopes_, places * (gradients + 1));
  grow_to(sums_, 3 * (gradients + 2));
  grow_to(histograms_, leaves * inputs * BinnedInputs::bins * (gradients + 2));
  order_.reserve(places);
  leaves_.reserve(leaves);
}

void TreeGrower::start(std::size_t places, std::size_t gradients) {
  width_ = gradients + 1;
  order_.clear();
  reserve(places, gradients, 0, 0);
}

void TreeGrower::grow(const BinnedInputs& inputs, double prior, std::size_t least,
                      std::span<TreeNode> nodes) {
  inputs_ = &inputs;
  prior_ = prior;
  least_ = static_cast<double>(least);
  reserve(0, width_ - 1, inputs.size(), nodes.size() + 1);
  std::ranges::fill(nodes, TreeNode{});
  leaves_.assign(1, {.first = 0, .last = order_.size(), .histogram = 0});
  fill_histogram(leaves_[0]);
  judge(leaves_[0]);
  const auto tell_parent = [&](const Leaf& leaf, int child) {
    if (leaf.parent >= 0)
      nodes[static_cast<std::size_t>(leaf.parent)].child[leaf.side] =
          static_cast<TreeNode::Child>(child);
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto best = std::ranges::max_element(leaves_, {}, &Leaf::gain);
    if (!(best->gain > 0)) break;
    tell_parent(*best, static_cast<int>(n));
    nodes[n].input = static_cast<std::uint32_t>(inputs.input(best->f));
    nodes[n].threshold = inputs.threshold(best->f, best->bin);
    split(static_cast<std::size_t>(best - leaves_.begin()), n);
  }
  for (std::size_t l = 0; l < leaves_.size(); ++l) tell_parent(leaves_[l], ~static_cast<int>(l));
}

void TreeGrower::split(std::size_t leaf, std::size_t node) {
  const Leaf whole = leaves_[leaf];
  const auto begin = order_.begin();
  const auto middle = std::partition(
      begin + static_cast<std::ptrdiff_t>(whole.first),
      begin + static_cast<std::ptrdiff_t>(whole.last),
      [&](std::uint32_t place) { return inputs_->codes(place)[whole.f] <= whole.bin; });
  const auto at = static_cast<std::size_t>(middle - begin);
  Leaf below{.first = whole.first,
             .last = at,
             .histogram = whole.histogram,
             .parent = static_cast<int>(node)};
  Leaf above{.first = at,
             .last = whole.last,
             .histogram = whole.histogram,
             .parent = static_cast<int>(node),
             .side = 1};
  Leaf& smaller = below.rows() < above.rows() ? below : above;
  const Leaf& larger = below.rows() < above.rows() ? above : below;
  smaller.histogram = leaves_.size();
  fill_histogram(smaller);
  const auto taken = histogram(smaller);
  const auto left = histogram(larger);
  for (std::size_t k = 0; k < left.size(); ++k) left[k] -= taken[k];
  judge(below);
  judge(above);
  leaves_[leaf] = below;
  leaves_.push_back(above);
}

template <std::size_t fixed_width>
void TreeGrower::sum_up(const Leaf& leaf) {
  const std::size_t width = fixed_width > 0 ? fixed_width : width_;
  const std::size_t inputs = inputs_->size();
  double* const all = histogram(leaf).data();
  for (std::size_t k = leaf.first; k < leaf.last; ++k) {
    const std::uint8_t* const code = inputs_->codes(order_[k]);
    const double* const slope = &slopes_[order_[k] * width];
    for (std::size_t f = 0; f < inputs; ++f) {
      double* const sum = all + (f * BinnedInputs::bins + code[f]) * (width + 1);
      for (std::size_t g = 0; g < width; ++g) sum[g] += slope[g];
      sum[width] += 1;
    }
  }
}

void TreeGrower::fill_histogram(const Leaf& leaf) {
  std::ranges::fill(histogram(leaf), 0.0);
  switch (width_) {
    case 2:
      return sum_up<2>(leaf);
    case 5:
      return sum_up<5>(leaf);
    default:
      return sum_up<0>(leaf);
  }
}

template <std::size_t fixed_width>
void TreeGrower::find_question(Leaf& leaf) {
  const std::size_t width = fixed_width > 0 ? fixed_width : width_;
  const std::size_t numbers = width + 1;
  double* const below = sums_.data();
  double* const above = below + numbers;
  double* const whole = above + numbers;
  const double* const all = histogram(leaf).data();
  const auto score = [&](const double* sums) {
    double squares = 0;
    for (std::size_t g = 0; g + 1 < width; ++g) squares += sums[g] * sums[g];
    return squares / (sums[width - 1] + prior_);
  };
  std::fill_n(whole, numbers, 0.0);
  for (std::size_t b = 0; b < BinnedInputs::bins; ++b)
    for (std::size_t g = 0; g < numbers; ++g) whole[g] += all[b * numbers + g];
  const double score_of_whole = score(whole);
  for (std::size_t f = 0; f < inputs_->size(); ++f) {
    std::fill_n(below, numbers, 0.0);
    for (std::size_t b = 0; b < BinnedInputs::thresholds; ++b) {
      const double* const sum = all + (f * BinnedInputs::bins + b) * numbers;
      for (std::size_t g = 0; g < numbers; ++g) {
        below[g] += sum[g];
        above[g] = whole[g] - below[g];
      }
      if (below[width] < least_ || above[width] < least_) continue;
      const double gain = score(below) + score(above) - score_of_whole;
      if (!(gain > leaf.gain * more)) continue;
      leaf.gain = gain;
      leaf.f = f;
      leaf.bin = b;
    }
  }
}

void TreeGrower::judge(Leaf& leaf) {
  leaf.gain = 0;
  if (static_cast<double>(leaf.rows()) < 2 * least_) return;
  width_ == 2 ? find_question<2>(leaf) : find_question<0>(leaf);
}

}  // namespace kalstream
