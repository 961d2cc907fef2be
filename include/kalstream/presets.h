// The settings of the published experiments, by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kalstream/options.h"

namespace kalstream {

/// `paper`: Algorithms 1 and 2 as the text defines them. `authors`: what produced the published
/// tables (a noise floor, other expert grids, …; docs/presets.md lists every difference).
enum class Preset { paper, authors };

/// The published streams; each has its own network size and noise levels.
enum class Experiment { kin8nm, kin32fm, elevators, puma8nm, puma8nh, puma32fm, addition };

/// `rule`'s type says which training rule is meant; its values are replaced (not those of Auto or
/// a baseline: nothing was published). Noise is annealed over `run_length` samples. The network's
/// inputs and outputs are left at 1 for the caller to set.
LearnerOptions preset(Preset preset, Experiment experiment, const Rule& rule, double run_length);

/// Samples learnt in a published run: 100,000 for addition, else 2,541. (The text says 2,500; the
/// programs take what 2,600 rows leave after the warm-up and before the last 50 forecasts.)
double published_run_length(Experiment experiment);

/// Samples before these that the published experiments pass through, neither scored nor learnt: the
/// first window of 10 fills up. Early updates from a shorter one throw Algorithm 2 off its way.
constexpr std::size_t published_warm_up = 9;

std::optional<Experiment> experiment_named(std::string_view name);
std::string_view to_string(Experiment experiment);

}  // namespace kalstream
