// Several learners, several seeds, one stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contenders/contenders.h"
#include "engine/engine.h"
#include "eval/progressive.h"

namespace kalstream {

struct ComparisonOptions {
  std::vector<std::uint64_t> seeds = {1};
  EvaluationOptions evaluation;
  std::size_t jobs = 0;  ///< 0: one per core
  /// Sees the engine of (contender, seed's place) when its run is over. Called from several
  /// threads.
  std::function<void(std::size_t, std::size_t, Engine&)> on_finished = {};
};

/// All runs of one contender, in the order of the seeds.
struct Outcome {
  std::string name;
  std::vector<std::uint64_t> seeds;
  std::vector<RunResult> runs;
};

/// What a table shows of an outcome.
struct Summary {
  std::string learner;
  std::size_t seeds = 0;
  std::size_t steps = 0;  ///< of the longest run
  double nse_mean = 0, nse_median = 0, nse_p05 = 0, nse_p95 = 0;
  double nse_deviation = 0;  ///< of the runs' NSE, over seeds
  /// The interval published as "NSE ± x": middle and half-width of the 5–95 % band over seeds,
  /// taken at each step and averaged over steps.
  double nse_band_middle = 0, nse_band_half = 0;
  double rmse_mean = 0, mae_mean = 0;
  BoundsScore bounds;  ///< means over the runs; NaN without intervals
  double knse_mean = 0, knse_band_middle = 0, knse_band_half = 0;  ///< NaN without a horizon
  double log_loss_mean = 0, accuracy_mean = 0;  ///< NaN unless targets are classes
  double update_fraction = 0;
  double us_per_step = 0;
  double seconds = 0;           ///< of the median run
  double sustained_median = 0;  ///< +∞ if half of the runs or more never got there
  std::size_t rejected_updates = 0;
};

/// Progress of one run: (contender, seed's place, steps done since the last call, NSE so far or
/// NaN). Called from several threads.
using ComparisonProgress = std::function<void(std::size_t, std::size_t, std::size_t, double)>;

/// A contender's options with the sizes of this stream, and its loss where targets are classes.
LearnerOptions options_on(const Contender& contender, const Dataset& data);

/// The learner a contender stands for, on this stream, with this seed.
std::unique_ptr<Learner> make_contender(const Contender& contender, const Dataset& data,
                                        std::uint64_t seed);

/// What makes the learners a contender stands for, on any stream, with this seed.
EngineOptions engine_for(const Contender& contender, std::uint64_t seed);

/// Whether all of them take rows that lack inputs.
bool takes_gaps(MissingInputs missing, const std::vector<Contender>& contenders);

/// Runs every contender with every seed, in parallel. Throws std::invalid_argument, naming the
/// contender, before anything runs if its options are wrong.
std::vector<Outcome> compare(const std::vector<Contender>& contenders, const Dataset& data,
                             const ComparisonOptions& options,
                             const ComparisonProgress& progress = {});

Summary summarise(const Outcome& outcome);

/// The mean over the runs, for each target by itself.
std::vector<TargetScore> summarise_targets(const Outcome& outcome);

}  // namespace kalstream
