// What `kalstream run` shows and writes.
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

/// Files that would be overwritten by mistake or cannot be written are found before the work.
void check_outputs(const RunArguments& arguments);

/// Table, files and remarks, as asked for.
void write_results(const RunArguments& arguments, const RunReport& report);

}  // namespace kalstream::cli
