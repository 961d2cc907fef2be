// SGD, RMSprop and Adam: one gradient step of ½‖e‖² per sample.
#pragma once

#include "update/update_rule.h"

namespace kalstream {

/// The rule that options describe.
std::unique_ptr<UpdateRule> make_rule(const Sgd& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const RmsProp& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const Adam& options, const ParameterLayout& layout);

}  // namespace kalstream
