// Boosted trees that follow a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/archive.h"
#include "core/rng.h"
#include "trees/binned_inputs.h"
#include "trees/forest.h"

namespace kalstream {

struct BoostingPlan {
  std::size_t window = 2000;  ///< rows that a tree is fitted to
  std::size_t trees = 100;
  std::size_t leaves = 8;
  std::size_t every = 6;  ///< samples between two trees, once the window is full
  double rate = 0.3;      ///< of the Newton step
  double prior = 1;       ///< added to the curvature in a leaf
  std::size_t least = 3;  ///< rows in a leaf
  std::uint64_t seed = 1;
};

/// A sum of small trees, fitted to the last rows of a stream by steps of Newton's method on a loss
/// (Friedman 2001). Every few samples the oldest tree is taken out and a new one fitted to what the
/// others leave: the sum follows the stream, and no step is a long one.
///
/// Of many outputs a tree's questions are chosen by a few random projections of their gradients
/// (Iosipoi and Vakhrushev 2022); its values are those of all outputs.
class Boosting {
 public:
  /// The rows of the window, and their loss. Rows have places, which they keep, below `window`.
  class Rows {
   public:
    virtual std::size_t size() const = 0;
    /// Where the s-th lies.
    virtual std::size_t place(std::size_t s) const = 0;
    virtual std::span<const double> x(std::size_t place) const = 0;
    /// Of the loss by the scores of a row, downhill.
    virtual void slopes(std::size_t place, std::span<const double> score,
                        std::span<double> gradient, std::span<double> curvature) const = 0;

   protected:
    ~Rows() = default;
  };

  Boosting(std::size_t inputs, std::size_t outputs, const BoostingPlan& plan);

  const BoostingPlan& plan() const { return plan_; }
  std::size_t outputs() const { return forest_.outputs(); }

  /// The scores that the trees give inputs x.
  void score(std::span<const double> x, std::span<double> score) const { forest_.add_up(x, score); }
  /// The newest row, which lies at `place` and has these scores by now, is in the window from now
  /// on. A new tree is fitted if it is time.
  void learn(const Rows& rows, std::size_t place, std::span<const double> score);

  void reset();
  void exchange(Archive& archive);

 private:
  std::size_t gradients() const;
  void draw_thresholds(const Rows& rows, Rng& rng);
  void replace_oldest(const Rows& rows);
  void take_out(std::size_t tree, const Rows& rows);
  void show_slopes(const Rows& rows, Rng& rng);
  void set_values(std::size_t tree);
  std::span<double> score_of(std::size_t place) {
    return std::span(scores_).subspan(place * outputs(), outputs());
  }

  BoostingPlan plan_;
  BinnedInputs binned_;
  Forest forest_;
  std::uint64_t fitted_ = 0;    // trees so far
  std::uint64_t waited_ = 0;    // since the last, in parts of a sample of which there are `window`
  std::vector<double> scores_;  // of the rows in the window
};

}  // namespace kalstream
