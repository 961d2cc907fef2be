// Who takes part: the paper's learners as its tables were made, and the variants that show what
// their results depend on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kalstream/presets.h"

namespace kalstream::paper {

struct Variant {
  std::string_view key;      ///< as in --learners
  std::string_view label;    ///< as in the tables
  std::string_view learner;  ///< whose published numbers stand beside it; empty: none
  std::string_view meaning;
  bool table1 = true;
  bool table2 = true;
};

const std::vector<Variant>& variants();

/// Those named, in their own order; all of them if none is. Throws std::invalid_argument.
std::vector<const Variant*> chosen_variants(const std::vector<std::string>& keys);

/// The learner for this experiment, without its sizes.
LearnerOptions options_of(const Variant& variant, Experiment experiment);

}  // namespace kalstream::paper
