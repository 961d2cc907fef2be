// Grid search: every combination of some settings, the same seeds for each, on one stream.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/jobs.h"
#include "view/chart.h"

namespace kalstream {

/// A setting and the values to try.
struct GridAxis {
  std::string key;
  std::vector<std::string> values;
};

/// "key=v1,v2,…" or, for numbers, "key=FIRST:STEP:LAST". Throws std::invalid_argument.
GridAxis parse_axis(const std::string& text);

/// The grid the paper searched for this learner (EKF: DEKF's, which it reuses), its anneals over
/// the published run, 2,541 samples; empty if it searched none.
std::vector<GridAxis> published_grid(const std::string& learner);

struct GridSearch {
  std::string name;  ///< of the jobs
  const Dataset* data = nullptr;
  Contender contender = {};
  std::vector<GridAxis> axes = {};
  std::vector<std::uint64_t> seeds = {};
  EvaluationOptions evaluation = {};
  bool of_classes = false;  ///< targets are classes: the error is log loss
};

/// One job per combination and seed, seeds innermost and the last axis next. Throws
/// std::invalid_argument for a key or value the learner does not have.
std::vector<Job> jobs_of(const GridSearch& search);

/// The mean error at every combination: NSE, or log loss where targets are classes.
struct GridPoint {
  std::vector<std::string> values;  ///< one per axis
  double mean = 0;                  ///< NaN or very large where the learner fails
  double deviation = 0;             ///< over seeds
};

/// Which error it is, in words.
const char* measure_of(const GridSearch& search);

/// In the order of the jobs.
std::vector<GridPoint> surface_of(const GridSearch& search, std::span<const RunResult> runs);

/// Of the lowest mean; the first of equals. Throws std::invalid_argument without points.
std::size_t best_point(const std::vector<GridPoint>& surface);

/// The line of a search over one axis of numbers; nothing for any other.
std::optional<view::Panel> surface_line(const GridSearch& search,
                                        const std::vector<GridPoint>& surface);

/// The whole surface: a line where there is one, else a heat map with the last axis across and the
/// combinations of the others down.
std::string surface_picture(const GridSearch& search, const std::vector<GridPoint>& surface,
                            const std::string& title);

}  // namespace kalstream
