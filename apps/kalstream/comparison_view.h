// What people see of a comparison: live progress, and pictures at the end.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"
#include "io/jobs.h"
#include "view/chart.h"

namespace kalstream::cli {

/// compare() with a progress bar on a terminal that shows each learner's error so far.
std::vector<Outcome> compare_with_progress(const std::string& label,
                                           const std::vector<Contender>& contenders,
                                           const Dataset& data, const ComparisonOptions& options,
                                           bool show);

/// run_jobs() with a progress bar on a terminal that tells what remains; says what was resumed.
std::vector<RunResult> run_jobs_with_progress(const std::string& label,
                                              const std::vector<Job>& jobs, JobsOptions options,
                                              bool show);

/// Error over time as SVG: per learner the median over seeds, with the 5–95 % band if there are
/// several, smoothed by a moving average.
std::string learning_curves(const Dataset& data, const std::vector<Outcome>& outcomes);

/// The weights of the experts over time as SVG, of the first seed: a panel per mixture among the
/// contenders, a line per expert; those that count little are added up.
std::string weight_curves(const Dataset& data, const std::vector<Contender>& contenders,
                          const std::vector<Outcome>& outcomes);

/// The last `rows` rows of the first seed as SVG: a panel per learner and target (the first six),
/// with the bounds, which were to hold the part `coverage` of the targets; 0: there are none.
std::string predictions_chart(const Dataset& data, const std::vector<Outcome>& outcomes,
                              std::size_t rows, double coverage);

/// A band may be wide, as in the beginning, but must not make lines of all else: the axis ends this
/// share of the lines' height beyond them.
void limit_axis(view::Panel& panel, double share);

}  // namespace kalstream::cli
