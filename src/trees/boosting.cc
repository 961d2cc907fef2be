#include "trees/boosting.h"

#include <algorithm>

#include "trees/tree_grower.h"

namespace kalstream {
namespace {

constexpr std::size_t smallest_window = 10;   // rows for a tree
constexpr std::uint64_t most_at_once = 4;     // trees fitted with one sample
constexpr std::uint64_t most_waited = 64;     // samples that trees are made up for
constexpr std::uint64_t trees_of_a_draw = 3;  // with the same thresholds, of a full window
constexpr std::size_t most_gradients = 4;     // that the questions of a tree are chosen by

// Numbers that live no longer than one tree: shared by all models of a thread.
struct Scratch {
  void reserve(std::size_t places, std::size_t outputs) {
    for (auto* v : {&gradients, &curvatures})
      if (v->size() < places * outputs) v->resize(places * outputs);
    for (auto* v : {&numerator, &denominator}) v->reserve(outputs);
    signs.reserve(outputs * most_gradients);
  }

  std::vector<double> gradients;   // place × output
  std::vector<double> curvatures;  // the same
  std::vector<double> signs;       // output × gradient that the grower sees
  std::vector<double> numerator;   // of a leaf, for each output
  std::vector<double> denominator;
};

Scratch& scratch() {
  thread_local Scratch one;
  return one;
}

}  // namespace

Boosting::Boosting(std::size_t inputs, std::size_t outputs, const BoostingPlan& plan)
    : plan_(plan),
      binned_(inputs, plan.window),
      forest_(inputs, plan.trees, plan.leaves, outputs),
      scores_(plan.window * outputs) {
  scratch().reserve(plan.window, outputs);
  TreeGrower::of_thread().reserve(plan.window, gradients(), binned_.size(), plan.leaves);
}

std::size_t Boosting::gradients() const { return std::min(outputs(), most_gradients); }

void Boosting::learn(const Rows& rows, std::size_t place, std::span<const double> score) {
  std::ranges::copy(score, score_of(place).begin());
  binned_.set(place, rows.x(place));
  const std::size_t size = rows.size();
  if (binned_.size() == 0 || size < smallest_window) return;
  // Between two trees a full window moves on by `every` rows, a young one by so much less as it is
  // smaller: there may be several trees with one sample then.
  const std::uint64_t pause = plan_.every * size;
  waited_ = std::min(waited_ + plan_.window, most_waited * plan_.window);
  for (std::uint64_t t = 0; t < most_at_once && waited_ >= pause; ++t) {
    waited_ -= pause;
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
  scratch().reserve(plan_.window, outputs());
  take_out(tree, rows);
  show_slopes(rows, rng);
  TreeGrower::of_thread().grow(binned_, plan_.prior, plan_.least, forest_.nodes(tree));
  set_values(tree);
}

// What the other trees leave of every row's loss: its gradients and curvatures.
void Boosting::take_out(std::size_t tree, const Rows& rows) {
  Scratch& s = scratch();
  const std::size_t n = outputs();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t place = rows.place(r);
    const auto score = score_of(place);
    const auto old = forest_.values(tree, forest_.leaf_of(tree, rows.x(place)));
    for (std::size_t k = 0; k < n; ++k) score[k] -= old[k];
    rows.slopes(place, score, std::span(s.gradients).subspan(place * n, n),
                std::span(s.curvatures).subspan(place * n, n));
  }
}

// The grower sees the gradients of all outputs, or random sums of them; and the largest curvature.
void Boosting::show_slopes(const Rows& rows, Rng& rng) {
  Scratch& s = scratch();
  const std::size_t n = outputs();
  const std::size_t shown = gradients();
  s.signs.clear();
  if (n > shown)
    for (std::size_t k = 0; k < n * shown; ++k) s.signs.push_back(rng.below(2) == 0 ? -1 : 1);
  TreeGrower& grower = TreeGrower::of_thread();
  grower.start(plan_.window, shown);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t place = rows.place(r);
    const double* const gradient = &s.gradients[place * n];
    const double* const curvature = &s.curvatures[place * n];
    const auto slope = grower.add(place);
    slope[shown] = *std::max_element(curvature, curvature + n);
    if (n == shown) {
      std::copy_n(gradient, n, slope.begin());
      continue;
    }
    std::fill_n(slope.begin(), shown, 0.0);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t g = 0; g < shown; ++g) slope[g] += gradient[k] * s.signs[k * shown + g];
  }
}

// The Newton step in every leaf, by which the rows' scores move.
void Boosting::set_values(std::size_t tree) {
  Scratch& s = scratch();
  const TreeGrower& grower = TreeGrower::of_thread();
  const std::size_t n = outputs();
  for (std::size_t leaf = 0; leaf < plan_.leaves; ++leaf) {
    s.numerator.assign(n, 0.0);
    s.denominator.assign(n, plan_.prior);
    for (const std::uint32_t place : grower.rows(leaf))
      for (std::size_t k = 0; k < n; ++k) {
        s.numerator[k] += s.gradients[place * n + k];
        s.denominator[k] += s.curvatures[place * n + k];
      }
    const auto values = forest_.values(tree, leaf);
    for (std::size_t k = 0; k < n; ++k) values[k] = plan_.rate * s.numerator[k] / s.denominator[k];
    for (const std::uint32_t place : grower.rows(leaf))
      for (std::size_t k = 0; k < n; ++k) score_of(place)[k] += values[k];
  }
}

void Boosting::reset() {
  binned_.reset();
  forest_.reset();
  std::ranges::fill(scores_, 0.0);
  fitted_ = waited_ = 0;
}

void Boosting::exchange(Archive& archive) {
  archive.count(fitted_);
  archive.count(waited_, most_waited * plan_.window);
  binned_.exchange(archive);
  forest_.exchange(archive);
  archive.run(scores_);
}

}  // namespace kalstream
