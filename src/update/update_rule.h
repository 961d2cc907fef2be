// A training rule: sees the error e, the Jacobian H and the weights θ; never the model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/aligned.h"
#include "core/layout.h"
#include "kalstream/options.h"
#include "kalstream/report.h"

namespace kalstream {

class Archive;

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// Whether the rule would learn from error e. If not, skip() takes the place of update().
  virtual bool wants_jacobian(std::span<const double> /*e*/) const { return true; }

  /// Whether variance() can tell anything.
  virtual bool has_variance() const { return false; }

  /// The variance of a prediction whose Jacobian is H, for each output; positive and finite.
  virtual void variance(std::span<const double> /*H*/, std::span<double> /*v*/) {}

  /// One learning step: e has n_d entries, H is n_d × n_θ; empty for that of the last variance(),
  /// whose work is then reused. Returns applied, or the reason why nothing changed. The weights may
  /// change places with an array of the rule's own.
  virtual StepStatus update(std::span<const double> e, std::span<const double> H,
                            AlignedVector& theta) = 0;

  /// A step the gate held back.
  virtual void skip() {}

  /// Σ Tr P over all blocks; 0 for rules without a covariance.
  virtual double covariance_trace() const { return 0; }

  /// Back to the state after construction.
  virtual void reset() = 0;

  virtual std::unique_ptr<UpdateRule> clone() const = 0;

  /// All that has been learnt, to or from a snapshot; from one only after construction.
  virtual void exchange(Archive& archive) = 0;

 protected:
  UpdateRule() = default;
  UpdateRule(const UpdateRule&) = default;
  UpdateRule& operator=(const UpdateRule&) = default;
};

}  // namespace kalstream
