// Many runs, each kept on disk as soon as it is finished: long work can be interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream {

/// One learner on one stream with one seed.
struct Job {
  std::string name;  ///< of its file: letters, digits, '-' and '.'; unique among the jobs
  const Dataset* data = nullptr;
  Contender contender = {};
  std::uint64_t seed = 1;
  EvaluationOptions evaluation = {};
  bool keep_errors = true;  ///< of every row; predictions are never kept
};

struct JobsOptions {
  std::filesystem::path directory = {};  ///< of finished runs; empty: nothing is kept
  /// Takes the runs that are there, if the same program made them from the same data and settings.
  bool resume = false;
  std::size_t jobs = 0;  ///< at a time; 0: one per core
  /// Called once, with the estimated cost of what is still to be done and the number of runs taken.
  std::function<void(double, std::size_t)> on_start = {};
  /// Called from several threads, with the estimated cost of what was done since the last call.
  std::function<void(const Job&, double)> on_progress = {};
};

/// The results, in the order of the jobs; independent of how many run at a time and of what was
/// resumed (but for the seconds). Throws std::invalid_argument, naming the job, before anything
/// runs if its options are wrong, and std::runtime_error if a result cannot be written.
std::vector<RunResult> run_jobs(const std::vector<Job>& jobs, const JobsOptions& options);

}  // namespace kalstream
