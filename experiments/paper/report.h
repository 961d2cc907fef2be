// The reproduction as people and programs read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "paper/tables.h"
#include "search/grid.h"
#include "view/document.h"

namespace kalstream::paper {

/// A grid search of the paper, made again.
struct SearchResult {
  Experiment experiment;
  std::string stream;  ///< label
  GridSearch search;   ///< its data may be gone
  std::vector<GridPoint> surface;
};

struct Reproduction {
  std::string command;  ///< that makes it again
  bool quick = false;
  std::optional<Table1> table1 = {};
  bool figures_only = false;  ///< of Table 1
  std::optional<Table2> table2 = {};
  std::vector<SearchResult> searches = {};
};

/// What of the paper's claims holds in these numbers, a sentence each, with **bold** beginnings.
std::vector<std::string> verdicts(const Reproduction& r);

view::Document report(const Reproduction& r);

/// Everything, with seeds, version, processor and date.
std::string results_json(const Reproduction& r);

}  // namespace kalstream::paper
