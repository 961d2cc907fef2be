// What the options of every training rule have in common: schedules, and that the library knows how
// to make a learner of them.
#pragma once

#include "kalstream/schedule.h"

namespace kalstream {

/// All the library knows of a rule: its names, its fields, how its learners are made. For the
/// library's own use; the rule's source in src/rules says it.
template <class Options>
struct RuleInfo;

}  // namespace kalstream
