// The contenders of a comparison by name, as a command line or a script writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kalstream/calibrated.h"
#include "kalstream/learner.h"
#include "kalstream/presets.h"
#include "schema/dataset.h"

namespace kalstream {

struct Contender {
  std::string name;
  LearnerOptions options;  ///< inputs, outputs and seed are filled in by compare
  bool scaled = false;     ///< made by make_scaled_learner
  /// A learner of these options to go on from; nullptr: every run makes its own.
  std::shared_ptr<const CalibratedLearner> start = {};
};

/// A contender for each name in "alg2,ekf". The preset is "", "paper", "authors" or
/// "authors:STREAM"; without :STREAM the data's name chooses, kin8nm if it is not a published one.
/// Its noise is annealed over the published run length. Throws std::invalid_argument listing what
/// is known.
std::vector<Contender> make_contenders(const std::vector<std::string>& names,
                                       const std::string& preset, const Dataset& data);

/// "KEY=VALUE" for all contenders that have KEY, or "LEARNER.KEY=VALUE" for one. A schedule A..B
/// spans `run_length` samples. Throws std::invalid_argument, beginning with "--set".
void apply_setting(std::vector<Contender>& contenders, const std::string& assignment,
                   std::size_t run_length);

/// For all contenders that take past targets as inputs; naive and mean need no telling.
void set_lags(std::vector<Contender>& contenders, std::size_t lags);

/// What an error costs, for learners of numbers and counts: by name, for all contenders but
/// baselines. Throws for others that know the squared error alone.
const std::vector<std::string>& losses_of_numbers();
void set_loss(std::vector<Contender>& contenders, const std::string& loss);

/// For all contenders that can share a step among threads.
void set_threads(std::vector<Contender>& contenders, std::size_t threads);

/// "10": seeds 1 to 10; "5..14": those. Throws std::invalid_argument.
std::vector<std::uint64_t> parse_seeds(const std::string& text);

/// The published stream whose settings a preset uses for this data; the second is false if it is
/// only a stand-in.
std::pair<Experiment, bool> experiment_for(const std::string& preset, const Dataset& data);

}  // namespace kalstream
