// What an error costs.
#pragma once

namespace kalstream {

/// The loss that a network under any rule learns to make small. Kalman rules see each error in
/// units of its own deviation, first-order rules follow the gradient (docs/losses.md).
struct Loss {
  enum class Kind {
    squared,  ///< ‖d − d̂‖²: the paper's
    /// Probabilities of classes. With one output, of the second of two: d is 0 or 1 (or between),
    /// d̂ in (0,1). With several, one for each class, together 1; d is 1 for the class it was.
    cross_entropy,
    poisson,  ///< counts, d ≥ 0, of which d̂ > 0 is the mean: d̂ − d ln d̂
    huber,    ///< squared for errors up to `threshold`, beyond that by their size: for heavy tails
    quantile  ///< d̂ shall be above `quantile` of the targets
  };
  Kind kind = Kind::squared;
  /// Of huber and quantile, in the network's units (scaled learners: docs/losses.md). The kink of a
  /// quantile's loss is rounded off within it.
  double threshold = 0.25;
  double quantile = 0.5;  ///< in (0,1)
  /// Of cross_entropy and poisson: d̂ = link(link_scale·z). What is twice as steep is learnt with
  /// weights half as large.
  double link_scale = 1;

  /// Whether d̂ is a function of its own of the network's outputs, which then are linear
  /// (NetworkOptions::output_activation has no effect), and targets have units of their own.
  constexpr bool has_link() const { return kind == Kind::cross_entropy || kind == Kind::poisson; }

  void validate() const;
};

}  // namespace kalstream
