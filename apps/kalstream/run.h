// The parts of `kalstream run`: what it is told (run_arguments.cc), and what it shows and writes
// (run_output.cc); `demo` has its table, too.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eval/comparison.h"
#include "settings/stream_settings.h"
#include "stream_options.h"

namespace kalstream::cli {

struct RunArguments {
  std::string data;
  std::vector<std::string> columns;
  StreamSettings settings;
  std::size_t steps = 0;
  std::size_t delay = 0;
  std::optional<std::size_t> warm_up;
  std::vector<std::string> learners = {"auto"};
  std::string preset;
  std::string seeds = "1";
  std::vector<std::string> set;
  ScalingArguments scaling;
  bool stop_when_sustained = false;
  std::size_t jobs = 0;
  std::string json;
  std::string csv;
  std::string plot;
  std::string plot_predictions;
  std::size_t plot_rows = 300;
  std::string plot_weights;
  std::string save;
  std::string start;
  bool quiet = false;
};

/// Options and help of the command; they write into `arguments`, which must outlive it.
void add_run_options(CLI::App& command, RunArguments& arguments);

/// Everything there is to tell of a run.
struct RunReport {
  const Dataset& data;
  std::size_t steps = 0;
  const std::vector<Contender>& contenders;
  const std::vector<Outcome>& outcomes;
  std::string remark;  ///< on the elapsed time as an input; empty: none
};

/// One row per learner, perhaps with the steps to sustained prediction; bold best on a terminal.
std::string comparison_table(const std::vector<Outcome>& outcomes, bool with_sustained);

/// Files that would be overwritten by mistake or cannot be written are found before the work.
void check_outputs(const RunArguments& arguments);

/// Table, files and remarks, as asked for.
void write_results(const RunArguments& arguments, const RunReport& report);

}  // namespace kalstream::cli
