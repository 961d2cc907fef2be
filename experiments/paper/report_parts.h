// The parts of the report, and what they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paper/report.h"

namespace kalstream::paper {

// One part each; of searches there is at least one.
void add_table1(const Table1& t, view::Document& doc);
void add_figures(const Table1& t, view::Document& doc);
void add_table2(const Table2& t, view::Document& doc);
void add_searches(const std::vector<SearchResult>& searches, view::Document& doc);

/// Whether the paper has this learner, as it is here.
bool as_published(const Table1Row& row);

/// What the paper chose from the same grid.
std::vector<std::string> published_point(const SearchResult& s);

std::string number_text(double v);
std::string seeds_text(const std::vector<std::uint64_t>& seeds);

}  // namespace kalstream::paper
