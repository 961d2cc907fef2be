// What the paper reports: its Tables 1 and 2 as data (Vural, Ergüt, Kozat 2020; MATLAB on an
// i7-7500U at 2.7 GHz).
#pragma once

#include <array>
#include <string_view>

#include "kalstream/presets.h"

namespace kalstream::paper {

/// "middle ± half".
struct Interval {
  double middle = 0;
  double half = 0;
};

/// An entry of Table 1: errors over the run and 20 seeds, and the seconds a run took.
struct Table1Entry {
  Experiment experiment;
  std::string_view learner;
  Interval nse;
  Interval knse;
  double seconds;
};

/// Null if the paper has no such entry.
const Table1Entry* published_table1(Experiment experiment, std::string_view learner);

/// A column of Table 2: steps to sustained prediction and seconds for the five streams of n
/// numbers; +∞ steps: failed, and then NaN seconds.
struct Table2Column {
  int n;
  std::string_view learner;
  std::array<double, 5> steps;
  std::array<double, 5> seconds;
};

const Table2Column* published_table2(int n, std::string_view learner);

}  // namespace kalstream::paper
