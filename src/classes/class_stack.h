// Opinions about classes, combined by a logistic regression over their logarithms.
#pragma once

#include <span>
#include <vector>

#include "core/archive.h"
#include "loss/loss_function.h"

namespace kalstream {

/// p_k ∝ exp(b_k + Σ_j w_j f_jk) of features f_j of the classes, with w and b learnt by a Kalman
/// filter on the log loss. With the logarithms of opinions as features, who knows what others do
/// not counts more, who is too sure of himself less.
class ClassStack {
 public:
  struct Plan {
    std::vector<double> weights;     ///< w at the start
    std::vector<double> deviations;  ///< of w from it, beforehand
    double bias = 0.1;               ///< the same of b, from 0
    double process_noise;            ///< what w and b may change by in a step, squared
  };

  ClassStack(std::size_t classes, const Plan& plan);

  /// features: their number × classes.
  void predict(std::span<const double> features, std::span<double> p);
  /// The sample that predict was last asked about was of class y.
  void learn(std::size_t y);

  /// There are more classes from now on: w stays, b begins anew.
  void widen(std::size_t classes);
  /// Goes on from what another one has learnt of fewer classes, whose feature from[j] is feature j
  /// here; ClassMixture::nobody is new. b begins anew.
  void go_on_from(const ClassStack& narrower, std::span<const std::size_t> from);
  void reset();
  void exchange(Archive& archive);

 private:
  std::size_t outputs() const { return classes_ == 2 ? 1 : classes_; }
  std::size_t features() const { return plan_.weights.size(); }
  std::size_t size() const { return features() + outputs(); }
  void set_sizes(std::size_t classes);

  std::size_t classes_;
  Plan plan_;
  LossFunction loss_;
  std::vector<double> theta_;  // w, b
  std::vector<double> P_;
  // Of the last prediction:
  std::vector<double> H_;  // outputs × size
  std::vector<double> mu_;
  // For a moment:
  std::vector<double> e_;
  std::vector<double> e_white_;
  std::vector<double> H_white_;
  std::vector<double> before_;
  std::vector<double> Ph_;
};

}  // namespace kalstream
