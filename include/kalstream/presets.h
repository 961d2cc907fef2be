// The settings of the published experiments, by name.
#pragma once

#include <optional>
#include <string_view>

#include "kalstream/options.h"

namespace kalstream {

/// `paper`: Algorithms 1 and 2 as the text defines them. `authors`: what produced the published
/// tables (a noise floor, other expert grids, …; docs/presets.md lists every difference).
enum class Preset { paper, authors };

/// The published streams; each has its own network size and noise levels.
enum class Experiment { kin8nm, kin32fm, elevators, puma8nm, puma8nh, puma32fm, addition };

/// `rule`'s type says which training rule is meant; its values are replaced. Noise is annealed over
/// `run_length` samples. The network's inputs and outputs are left at 1 for the caller to set.
LearnerOptions preset(Preset preset, Experiment experiment, const Rule& rule, double run_length);

/// Samples in a published run: 2,500, or 100,000 for addition.
double published_run_length(Experiment experiment);

std::optional<Experiment> experiment_named(std::string_view name);
std::string_view to_string(Experiment experiment);

}  // namespace kalstream
