// The last target and the mean, for anything to beat. Of NetworkOptions they read inputs and
// outputs only; they take data in any units.
#pragma once

#include "kalstream/rules/rule.h"

namespace kalstream {

/// d̂ is the last target; 0 before there is one.
struct Naive {
  void validate() const {}
  static const RuleInfo<Naive>& info();
};

/// d̂ is the mean of the targets so far; 0 before there is one.
struct Mean {
  void validate() const {}
  static const RuleInfo<Mean>& info();
};

}  // namespace kalstream
