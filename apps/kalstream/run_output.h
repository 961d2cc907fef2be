// What `kalstream run` shows and writes; `demo` has its table, too.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"
#include "run_arguments.h"

namespace kalstream::cli {

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
