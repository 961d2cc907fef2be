// First-order rules, on the gradient g = −Hᵀe of ½‖e‖².
#pragma once

#include "kalstream/rules/rule.h"

namespace kalstream {

/// θ ← θ − μ g.
struct Sgd {
  Schedule learning_rate = 0.2;
  void validate() const;
  static const RuleInfo<Sgd>& info();
};

/// v ← βv + (1−β)g²;  θ ← θ − μ g / (√v + ε). In a long life weights are pulled towards 0, here and
/// for Adam: 3·10⁻⁵ θ is part of g from update 131,072 on.
struct RmsProp {
  Schedule learning_rate = 0.006;
  double decay = 0.99;
  double epsilon = 1e-8;
  void validate() const;
  static const RuleInfo<RmsProp>& info();
};

/// m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  θ ← θ − μ m̂ / (√v̂ + ε), hats: bias-corrected.
struct Adam {
  Schedule learning_rate = 0.004;
  double first_decay = 0.9;
  double second_decay = 0.999;
  double epsilon = 1e-8;
  void validate() const;
  static const RuleInfo<Adam>& info();
};

}  // namespace kalstream
