// Results of a comparison as tables and remarks for people.
#pragma once

#include <string>
#include <vector>

#include "eval/comparison.h"

namespace kalstream::cli {

struct TableColumns {
  bool sustained = false;  ///< steps to sustained prediction
};

/// One row per learner; bold best on a terminal.
std::string comparison_table(const std::vector<Outcome>& outcomes, const TableColumns& columns);

/// One row per learner and target.
std::string target_table(const Dataset& data, const std::vector<Outcome>& outcomes);

/// Of targets that are classes: one row per learner, of the first seed.
std::string class_table(const std::vector<Outcome>& outcomes);
/// How often the most probable class was right, by how probable it was.
std::string reliability_table(const ClassResult& classes);

/// "d.csv:52", or "row 52" of a stream without lines; rows count from 0.
std::string place_of_row(const Dataset& data, std::size_t row);

/// Remarks a user should not miss: rows left out, updates rejected. One per line, may be empty.
std::string remarks(const Dataset& data, const std::vector<Outcome>& outcomes, std::size_t horizon);

}  // namespace kalstream::cli
