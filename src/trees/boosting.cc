#include "trees/boosting.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"
#include "trees/tree_grower.h"

namespace kalstream {
namespace {

constexpr std::size_t smallest_window = 10;   // rows for a tree
constexpr std::uint64_t most_at_once = 4;     // trees fitted with one sample
constexpr std::uint64_t trees_of_a_draw = 3;  // with the same thresholds, of a full window
constexpr std::size_t projections = 4;        // of the gradients of more outputs than that

// Numbers that live no longer than one tree: shared by all models of a thread.
struct Scratch {
  std::vector<double> gradients;    // place × output
  std::vector<double> curvatures;   // the same
  std::vector<double> projection;   // output × gradient of the grower
  std::vector<double> numerator;    // of a leaf, for each output
  std::vector<double> denominator;
};

Scratch& scratch() {
  thread_local Scratch one;
  return one;
}

}  // namespace

Boosting::Boosting(std::size_t inputs, std::size_t outputs, const BoostingPlan& plan)
    : plan_(plan),
      inputs_(inputs),
      binned_(inputs, plan.window),
      forest_(inputs, plan.trees, plan.leaves, outputs),
      scores_(plan.window * outputs) {}

void Boosting::learn(const Rows& rows, std::size_t place, std::span<const double> score) {
  std::ranges::copy(score, score_of(place).begin());
  binned_.set(place, rows.x(place));
  const std::size_t size = rows.size();
  if (inputs_ == 0 || size < smallest_window) return;
  // A young window grows by as much between two trees as it will later move on; there are several
  // trees with each sample then.
  // Time is counted in parts, of which a tree has as many as `every` × the rows.
  const std::uint64_t part = plan_.every * size;
  since_ += plan_.window;
  since_ = std::min<std::uint64_t>(since_, 64*plan_.window);
  for (std::uint64_t t = 0; t < most_at_once && since_ >= part; ++t) {
    since_ -= part;
    replace_oldest(rows);
  }
}

// Of the rows, those that a threshold of an input is the value of: those of many draws together are
// everywhere.
void Boosting::draw_thresholds(const Rows& rows, Rng& rng) {
  const std::size_t size = rows.size();
  binned_.draw(rng, [&](std::size_t input) {
    return rows.x(rows.place(static_cast<std::size_t>(rng.below(size))))[input];
  });
  for (std::size_t s = 0; s < size; ++s) binned_.set(rows.place(s), rows.x(rows.place(s)));
}

void Boosting::replace_oldest(const Rows& rows) {
  Rng rng(plan_.seed ^ (fitted_ << 20));
  const bool is_full = rows.size() == plan_.window;
  if (!is_full || fitted_ % trees_of_a_draw == 0) draw_thresholds(rows, rng);
  const auto tree = static_cast<std::size_t>(fitted_++ % plan_.trees);
  const std::size_t size = rows.size();
  const std::size_t n_k = outputs();
  const std::size_t gradients = std::min(n_k, projections);
  Scratch& s = scratch();
  if (n_k > gradients) {
    s.projection.resize(n_k * gradients);
    for (double& v : s.projection) v = rng.below(2) == 0 ? -1.0 : 1.0;
  }
  s.gradients.resize(std::max(s.gradients.size(), plan_.window * n_k));
  s.curvatures.resize(s.gradients.size());
  TreeGrower& grower = TreeGrower::of_thread();
  grower.start(plan_.window, gradients);
  for (std::size_t r = 0; r < size; ++r) {
    const std::size_t place = rows.place(r);
    const auto score = score_of(place);
    const auto old = forest_.values(tree, forest_.leaf_of(tree, rows.x(place)));
    for (std::size_t k = 0; k < n_k; ++k) score[k] -= old[k];
    const auto gradient = std::span(s.gradients).subspan(place * n_k, n_k);
    const auto curvature = std::span(s.curvatures).subspan(place * n_k, n_k);
    rows.slopes(place, score, gradient, curvature);
    const auto slope = grower.add(place);
    slope[gradients] = std::ranges::max(curvature);
    if (n_k == gradients) {
      std::ranges::copy(gradient, slope.begin());
      continue;
    }
    std::fill_n(slope.begin(), gradients, 0.0);
    for (std::size_t k = 0; k < n_k; ++k)
      for (std::size_t g = 0; g < gradients; ++g)
        slope[g] += gradient[k] * s.projection[k * gradients + g];
  }
  grower.grow(binned_, plan_.prior, plan_.least, forest_.nodes(tree));
  for (std::size_t leaf = 0; leaf < plan_.leaves; ++leaf) {
    s.numerator.assign(n_k, 0.0);
    s.denominator.assign(n_k, plan_.prior);
    for (const std::uint32_t place : grower.rows(leaf))
      for (std::size_t k = 0; k < n_k; ++k) {
        s.numerator[k] += s.gradients[place * n_k + k];
        s.denominator[k] += s.curvatures[place * n_k + k];
      }
    const auto values = forest_.values(tree, leaf);
    for (std::size_t k = 0; k < n_k; ++k)
      values[k] = plan_.rate * s.numerator[k] / s.denominator[k];
    for (const std::uint32_t place : grower.rows(leaf))
      for (std::size_t k = 0; k < n_k; ++k) score_of(place)[k] += values[k];
  }
}

void Boosting::reset() {
  forest_.reset();
  std::ranges::fill(scores_, 0.0);
  fitted_ = since_ = 0;
}

void Boosting::exchange(Archive& archive) {
  archive.count(fitted_);
  archive.count(since_);
  binned_.exchange(archive);
  forest_.exchange(archive);
  archive.run(scores_);
}

}  // namespace kalstream
