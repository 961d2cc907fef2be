// SGD, RMSprop and Adam: one gradient step of ½‖e‖² per sample.
#pragma once

#include "core/aligned.h"
#include "update/longevity.h"
#include "update/update_rule.h"

namespace kalstream {

/// What the first-order rules share: the gradient, and an update that happens whole or not at all.
class FirstOrder : public UpdateRule {
 public:
  FirstOrder(Schedule learning_rate, std::size_t n_theta)
      : learning_rate_(learning_rate), g_(n_theta), theta_new_(n_theta) {}

  StepStatus update(std::span<const double> e, std::span<const double> H,
                    AlignedVector& theta) final;
  void reset() final;
  void exchange(Archive& archive) final;

 protected:
  /// The candidate θ⁺ (and the candidate of the rule's own state) from θ and the gradient, which
  /// is scale·g. False if a weight would be beyond use or the state non-finite.
  virtual bool propose(double mu, double scale, const double* g, std::span<const double> theta,
                       double* theta_new) = 0;
  /// How strongly weights are pulled towards 0 in the update under way.
  double pull() const { return Longevity::pull(t_); }
  /// Takes over the proposed state.
  virtual void accept() {}
  virtual void reset_state() {}
  virtual void exchange_state(Archive& /*archive*/) {}

 private:
  Schedule learning_rate_;
  std::uint64_t t_ = 0;
  AlignedVector g_;
  AlignedVector theta_new_;
};

/// The rule that options describe.
std::unique_ptr<UpdateRule> make_rule(const Sgd& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const RmsProp& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const Adam& options, const ParameterLayout& layout);

}  // namespace kalstream
