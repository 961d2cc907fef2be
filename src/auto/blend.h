// Many predictions of one number, made into one that is hardly worse than the best of them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace kalstream {

class Archive;

/// How fast a Blend learns.
struct BlendPace {
  /// Successive errors are correlated: the ridges and the choice among candidates count so many
  /// errors in a row as one.
  double apart = 4;
  /// The average counts so many errors in a row as one.
  double average_apart = 2;
  /// Fraction of the weight that is dealt out evenly after each step.
  double share = 0.01;
};

/// An expert that the average begins with: its weight there, of which the others share the rest.
struct Favourite {
  std::size_t expert = 0;
  double weight = 0;  ///< 0: all are alike
};

/// Learns how to combine the predictions q_1 … q_M of experts, in four steps:
///
///   average  b = Σ w_j q_j over those that say something; exponential weights,
///            w_j ∗= exp(−½(d − q_j)²/(s² average_apart)), where s² is the running squared error of
///            b, or that of the best expert now; after each step a share of all weight is dealt out
///            evenly
///   ridges   b + uᵀ(q − b): recursive least squares on what the experts say beyond the average,
///            one with a strong and one with a weak prior at u = 0
///   best     exponential weights again, over the average and the two ridges
///   final    exponential weights with a guarantee, over the best and every single expert: with
///            prior π, and ρ the width of the interval that holds all predictions and targets, the
///            loss is exp-concave for η = 1/(2ρ²), which gives at every t and for every expert
///
///                Σ(d − d̂)² ≤ Σ(d − q_j)² + 2ρ² ln(1/π_j)
///
/// Scale-free: everything in units of `interval` and of the errors seen.
class Blend {
 public:
  explicit Blend(std::size_t experts, const BlendPace& pace = {}, const Favourite& favourite = {});

  /// The interval that holds what will be predicted and learnt; it may only grow.
  void widen(double low, double high);

  /// d̂ for the experts' predictions, which are first held within the interval. Changes nothing
  /// but q(), which is what learn then learns from.
  double predict(std::span<const double> q);

  /// d is held within the interval.
  void learn(double d);

  /// d̂ without each expert, less d̂, for the last prediction: the others take its place in the
  /// average, and in the ridges as they would if its u_j were known to be 0.
  void without_each(std::span<double> difference) const;
  /// An expert falls silent: the ridges go on with u_j = 0, known for certain.
  void dismiss(std::size_t j);
  /// It says something again, as one nobody knows.
  void admit(std::size_t j);

  void reset();
  /// The ridges go on from where they are, but learn as at the start.
  void become_open();
  void exchange(Archive& archive);

  std::size_t experts() const { return w_.size(); }
  std::span<const double> q() const { return q_; }
  /// w of the average, and the running squared error of the best.
  std::span<const double> average_weights() const { return w_; }
  double squared_error() const { return best_error_; }
  /// How much each expert counts in the last prediction: d̂ = Σ weight_j q_j, Σ weight_j = 1. A
  /// ridge may give negative ones.
  std::span<const double> weights() const { return effective_; }
  /// Σ Tr C of the ridges; never above what it is at the start.
  double covariance_trace() const;
  /// The right-hand side of the guarantee beyond expert j's own loss.
  double regret_bound() const;

 private:
  struct Ridge {
    double prior;           // variance of each u_j at the start
    std::vector<double> C;  // covariance of u, M × M
    std::vector<double> u;
    double squared_error = 0;
  };
  enum Candidate : std::size_t { average, strong, weak, candidates };

  void track(double& squared_error, double e) const;
  void learn_average(double d);
  void learn_ridge(Ridge& ridge, double prediction, double d);
  void learn_best(double d);
  void learn_final(double d);
  void weigh_final();
  void find_effective_weights();

  BlendPace pace_;
  Favourite favourite_;
  double low_ = 0;
  double high_ = 0;
  std::size_t t_ = 0;
  std::vector<double> q_;
  std::vector<double> w_;
  double awake_ = 1;          // of w: that of the experts that said something
  double average_error_ = 0;  // s²
  std::array<Ridge, 2> ridges_;
  std::array<double, candidates> candidate_{};
  std::array<double, candidates> candidate_w_{};
  double best_ = 0;
  double best_error_ = 0;
  std::vector<double> final_loss_;  // of each expert, then of the best
  std::vector<double> final_w_;     // the same order
  std::vector<double> effective_;
  std::vector<double> beyond_;  // q − b
  std::vector<double> W_;       // C (q − b), divided by the root of its variance
};

}  // namespace kalstream
