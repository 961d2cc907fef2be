#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/archive.h"
#include "core/rng.h"
#include "kalstream/snapshot.h"
#include "support.h"
#include "trees/boosting.h"
#include "trees/tree_grower.h"

namespace kalstream {
namespace {

using test::Vector;

/// Rows with one or more targets and their squared error.
class SquaredRows final : public Boosting::Rows {
 public:
  explicit SquaredRows(std::size_t window) : window_(window) {}

  std::size_t add(const Vector& x, const Vector& d) {
    const std::size_t place = count_++ % window_;
    if (rows_.size() <= place) rows_.resize(place + 1);
    rows_[place] = {x, d};
    return place;
  }
  std::size_t size() const override { return rows_.size(); }
  std::size_t place(std::size_t s) const override { return s; }
  std::span<const double> x(std::size_t place) const override { return rows_[place].x; }
  void slopes(std::size_t place, std::span<const double> score, std::span<double> gradient,
              std::span<double> curvature) const override {
    for (std::size_t k = 0; k < score.size(); ++k) {
      gradient[k] = rows_[place].d[k] - score[k];
      curvature[k] = 1;
    }
  }

 private:
  struct Row {
    Vector x, d;
  };
  std::size_t window_;
  std::size_t count_ = 0;
  std::vector<Row> rows_;
};

/// Boosting and its rows, as a learner of them.
struct Stream {
  Stream(std::size_t inputs, std::size_t outputs, const BoostingPlan& plan)
      : boosting(inputs, outputs, plan), rows(plan.window), score(outputs) {}

  Vector predict(const Vector& x) {
    boosting.score(x, score);
    return score;
  }
  void learn(const Vector& x, const Vector& d) {
    predict(x);
    boosting.learn(rows, rows.add(x, d), score);
  }
  /// The mean squared error of the next samples.
  template <class Target>
  double error(Rng& rng, std::size_t inputs, int samples, const Target& target) {
    double sum = 0;
    for (int t = 0; t < samples; ++t) {
      Vector x(inputs);
      for (double& v : x) v = rng.uniform(-1, 1);
      const double d = target(x);
      sum += (d - predict(x)[0]) * (d - predict(x)[0]);
      learn(x, Vector(score.size(), d));
    }
    return sum / samples;
  }

  Boosting boosting;
  SquaredRows rows;
  Vector score;
};

// The oracle of a grower: every question of every leaf, with sums over the rows themselves.
struct Question {
  double gain = 0;
  std::size_t f = 0;
  double threshold = 0;
};

Question best_question(const BinnedInputs& inputs, const std::vector<Vector>& x,
                       const std::vector<Vector>& slopes, const std::vector<std::size_t>& rows,
                       double prior, std::size_t least) {
  const auto score = [&](const std::vector<std::size_t>& of) {
    Vector sums(slopes[0].size());
    for (const std::size_t r : of)
      for (std::size_t g = 0; g < sums.size(); ++g) sums[g] += slopes[r][g];
    double squares = 0;
    for (std::size_t g = 0; g + 1 < sums.size(); ++g) squares += sums[g] * sums[g];
    return squares / (sums.back() + prior);
  };
  Question best;
  for (std::size_t f = 0; f < inputs.size(); ++f)
    for (std::size_t b = 0; b < BinnedInputs::thresholds; ++b) {
      std::vector<std::size_t> below;
      std::vector<std::size_t> above;
      for (const std::size_t r : rows)
        (x[r][inputs.input(f)] > inputs.threshold(f, b) ? above : below).push_back(r);
      if (below.size() < least || above.size() < least) continue;
      const double gain = score(below) + score(above) - score(rows);
      if (gain > best.gain * (1 + 1e-6)) best = {gain, inputs.input(f), inputs.threshold(f, b)};
    }
  return best;
}

struct GrowerCase {
  std::size_t inputs, gradients, least;
};

class TreeGrowerOracle : public testing::TestWithParam<GrowerCase> {};

// Of all leaves the one is split that gains most, by its best question; the rows of a leaf are
// those that the tree leads to it.
TEST_P(TreeGrowerOracle, SplitsByTheBestQuestion) {
  const auto [n, gradients, least] = GetParam();
  constexpr std::size_t n_rows = 200;
  constexpr std::size_t n_leaves = 6;
  constexpr double prior = 0.7;
  Rng rng(3 + n);
  std::vector<Vector> x;
  std::vector<Vector> slopes;
  for (std::size_t r = 0; r < n_rows; ++r) {
    x.push_back(test::normals(rng, n));
    slopes.push_back(test::normals(rng, gradients));
    slopes[r][0] += x[r][0] > 0.3 ? 2 : x[r][n - 1] > 0 ? -1 : 0;
    slopes[r].push_back(rng.uniform(0.1, 1));
  }
  BinnedInputs inputs(n, n_rows);
  inputs.draw(rng, [&](std::size_t i) { return x[rng.below(n_rows)][i]; });
  TreeGrower grower;
  grower.start(n_rows, gradients);
  for (std::size_t r = 0; r < n_rows; ++r) {
    inputs.set(r, x[r]);
    std::ranges::copy(slopes[r], grower.add(r).begin());
  }
  Forest forest(n, 1, n_leaves, 1);
  grower.grow(inputs, prior, least, forest.nodes(0));

  std::vector<std::vector<std::size_t>> leaves(1);
  for (std::size_t r = 0; r < n_rows; ++r) leaves[0].push_back(r);
  for (std::size_t node = 0; node + 1 < n_leaves; ++node) {
    std::size_t split = 0;
    Question best;
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const Question q = best_question(inputs, x, slopes, leaves[l], prior, least);
      if (q.gain > best.gain) {
        best = q;
        split = l;
      }
    }
    ASSERT_GT(best.gain, 0);
    EXPECT_EQ(forest.nodes(0)[node].input, best.f) << node;
    EXPECT_EQ(forest.nodes(0)[node].threshold, best.threshold) << node;
    std::vector<std::size_t> below;
    std::vector<std::size_t> above;
    for (const std::size_t r : leaves[split])
      (x[r][best.f] > best.threshold ? above : below).push_back(r);
    leaves[split] = below;
    leaves.push_back(above);
  }
  for (std::size_t l = 0; l < n_leaves; ++l) {
    std::set<std::size_t> rows(grower.rows(l).begin(), grower.rows(l).end());
    EXPECT_EQ(rows, std::set<std::size_t>(leaves[l].begin(), leaves[l].end())) << l;
    EXPECT_GE(rows.size(), least);
    for (const std::size_t r : rows) EXPECT_EQ(forest.leaf_of(0, x[r]), l);
  }
}

INSTANTIATE_TEST_SUITE_P(, TreeGrowerOracle,
                         testing::Values(GrowerCase{1, 1, 1}, GrowerCase{3, 1, 3},
                                         GrowerCase{3, 2, 1}, GrowerCase{5, 4, 10}));

TEST(BinnedInputs, ACodeIsTheNumberOfThresholdsBelow) {
  Rng rng(5);
  BinnedInputs inputs(3, 50);
  inputs.draw(rng, [&](std::size_t) { return std::round(rng.normal() * 3); });
  for (std::size_t place = 0; place < 50; ++place) {
    const Vector x = test::normals(rng, 3, 3);
    inputs.set(place, x);
    for (std::size_t f = 0; f < 3; ++f) {
      int below = 0;
      for (std::size_t b = 0; b < BinnedInputs::thresholds; ++b) {
        below += inputs.threshold(f, b) < x[f] ? 1 : 0;
        if (b == 0) continue;
        EXPECT_LE(inputs.threshold(f, b - 1), inputs.threshold(f, b));
      }
      EXPECT_EQ(inputs.codes(place)[f], below);
    }
  }
}

TEST(BinnedInputs, LooksAtSomeOfManyInputs) {
  Rng rng(6);
  BinnedInputs inputs(100, 1);
  std::set<std::size_t> all;
  for (int draw = 0; draw < 40; ++draw) {
    inputs.draw(rng, [](std::size_t) { return 0.0; });
    std::set<std::size_t> now;
    for (std::size_t f = 0; f < inputs.size(); ++f) now.insert(inputs.input(f));
    EXPECT_EQ(now.size(), BinnedInputs::most);
    EXPECT_LT(*now.rbegin(), 100U);
    all.merge(now);
  }
  EXPECT_EQ(all.size(), 100U);
}

double step_of(const Vector& x) { return x[1] > 0.2 ? 3 : x[0] < -0.5 ? -1 : 0; }

TEST(Boosting, LearnsSteps) {
  Rng rng(1);
  Stream stream(3, 2, {});
  stream.error(rng, 3, 1500, step_of);
  EXPECT_LT(stream.error(rng, 3, 500, step_of), 0.1);
  EXPECT_EQ(stream.score[0], stream.score[1]);  // whose targets were the same
}

TEST(Boosting, LearnsMoreOutputsThanItShowsTheGrower) {
  Rng rng(2);
  Stream stream(3, 9, {});
  stream.error(rng, 3, 1500, step_of);
  EXPECT_LT(stream.error(rng, 3, 500, step_of), 0.1);
}

TEST(Boosting, FollowsAChangeWithinItsWindow) {
  Rng rng(3);
  Stream stream(2, 1, {.window = 300, .trees = 40, .every = 4});
  const auto other = [](const Vector& x) { return 5 - step_of(x); };
  stream.error(rng, 2, 800, step_of);
  EXPECT_GT(stream.error(rng, 2, 20, other), 1);
  stream.error(rng, 2, 600, other);
  EXPECT_LT(stream.error(rng, 2, 300, other), 0.2);
}

// Of targets that are all the same every tree takes its rate: r of what is left by n/(n + λ) is
// taken by each of the first trees.
TEST(Boosting, ATreeTakesItsRateOfWhatIsLeft) {
  constexpr std::size_t first = 10;  // the window that the first trees are fitted to
  const BoostingPlan plan{.window = first, .trees = 1000, .every = 1, .rate = 0.25, .prior = 2};
  Rng rng(4);
  Stream stream(1, 1, plan);
  const Vector d{8};
  for (std::size_t t = 0; t + 1 < first; ++t) stream.learn(test::normals(rng, 1), d);
  EXPECT_EQ(stream.predict({0})[0], 0);
  stream.learn(test::normals(rng, 1), d);
  const double taken = 0.25 * first / (first + 2);
  EXPECT_NEAR(stream.predict({0})[0], 8 * taken, 1e-12);
  stream.learn(test::normals(rng, 1), d);
  EXPECT_NEAR(stream.predict({0})[0], 8 * (1 - (1 - taken) * (1 - taken)), 1e-12);
}

TEST(Boosting, GoesOnFromItsStateToTheSameBits) {
  for (const std::size_t inputs : {3U, 40U}) {
    for (const std::size_t samples : {0U, 5U, 57U, 243U}) {
      const BoostingPlan plan{.window = 100, .trees = 20, .every = 3};
      Rng rng(5);
      Stream one(inputs, 6, plan);
      one.error(rng, inputs, static_cast<int>(samples), step_of);
      std::vector<std::byte> bytes;
      Archive to(bytes);
      one.boosting.exchange(to);
      Stream two(inputs, 6, plan);
      two.rows = one.rows;
      Archive from{std::span<const std::byte>(bytes)};
      two.boosting.exchange(from);
      EXPECT_EQ(from.left(), 0U);
      Rng again = rng;
      EXPECT_EQ(one.error(rng, inputs, 120, step_of), two.error(again, inputs, 120, step_of));
    }
  }
}

TEST(Forest, RefusesNodesThatLeadBack) {
  Forest forest(2, 2, 4, 1);
  for (const TreeNode::Child child :
       {TreeNode::Child{0}, TreeNode::Child{3}, TreeNode::Child{-5}}) {
    forest.reset();
    forest.nodes(1)[0] = {.input = 1, .child = {child, -1}, .threshold = 0};
    std::vector<std::byte> bytes;
    Archive to(bytes);
    EXPECT_THROW(forest.exchange(to), SnapshotError) << child;
  }
  forest.nodes(1)[0] = {.input = 1, .child = {1, 2}, .threshold = 0};
  std::vector<std::byte> bytes;
  Archive to(bytes);
  EXPECT_NO_THROW(forest.exchange(to));
}

}  // namespace
}  // namespace kalstream
