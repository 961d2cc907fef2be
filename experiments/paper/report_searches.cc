// The paper's grid searches, made again: what is best here, and what the paper chose.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "contenders/contenders.h"
#include "kalstream/settings.h"
#include "paper/report_parts.h"
#include "view/chart.h"
#include "view/table.h"

namespace kalstream::paper {
namespace {

/// The paper's letter for a setting.
std::string symbol(const std::string& key) {
  if (key == "learning_rate") return "μ";
  if (key == "initial_covariance") return "p₁";
  if (key == "measurement_noise") return "r";
  if (key == "process_noise") return "q";
  return key;
}

std::string point_text(const GridSearch& search, const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (std::size_t a = 0; a < values.size(); ++a)
    parts.push_back(
        fmt::format("{} {}", symbol(search.axes[a].key), values[a].substr(0, values[a].find('@'))));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The mean NSE at the paper's choice; NaN if it is not on the grid.
double nse_at(const SearchResult& s, const std::vector<std::string>& values) {
  std::vector<Contender> wanted{s.search.contender};
  for (const GridPoint& p : s.surface) {
    std::vector<Contender> here{s.search.contender};
    for (std::size_t a = 0; a < values.size(); ++a) {
      apply_setting(wanted, s.search.axes[a].key + "=" + values[a], 0);
      apply_setting(here, s.search.axes[a].key + "=" + p.values[a], 0);
    }
    const auto text = [](const Contender& c) {
      std::string all;
      for (const Setting& setting : settings_of(c.options)) all += setting.value + ";";
      return all;
    };
    if (text(wanted.front()) == text(here.front())) return p.mean;
  }
  return NAN;
}

}  // namespace

std::vector<std::string> published_point(const SearchResult& s) {
  std::vector<std::string> values;
  const Contender& c = s.search.contender;  // already has the published settings
  for (const GridAxis& axis : s.search.axes)
    for (const Setting& setting : settings_of(c.options))
      if (setting.key == axis.key) values.push_back(setting.value);
  return values;
}

void add_searches(const std::vector<SearchResult>& searches, view::Document& doc) {
  const GridSearch& any = searches.front().search;
  doc.heading("Grid searches");
  doc.paragraph(fmt::format(
      "The grids the paper searched for its settings: the first {} rows, {} ({} to {}, none of "
      "which the tables use). EKF was not searched; it reuses DEKF's settings.",
      any.evaluation.steps,
      any.seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", any.seeds.size()),
      any.seeds.front(), any.seeds.back()));
  view::Table table({{"stream", view::Align::left},
                     {"learner", view::Align::left},
                     {"best here", view::Align::left},
                     {"mean NSE"},
                     {"published choice", view::Align::left},
                     {"mean NSE"}});
  for (const SearchResult& s : searches) {
    const GridPoint& best = s.surface[best_point(s.surface)];
    const auto chosen = published_point(s);
    table.add_row({s.stream, s.search.contender.name, point_text(s.search, best.values),
                   number_text(best.mean), point_text(s.search, chosen),
                   number_text(nse_at(s, chosen))});
  }
  doc.table(std::move(table));
  // Lines of one learner share a figure; a surface has its own.
  for (const SearchResult& s : searches) {
    if (!surface_line(s.search, s.surface)) {
      doc.figure(
          s.search.name,
          surface_picture(s.search, s.surface,
                          fmt::format("{} on {}", s.search.contender.name, s.stream)),
          fmt::format("Mean NSE over the grid of {} on {}.", s.search.contender.name, s.stream));
      continue;
    }
    const std::string& learner = s.search.contender.name;
    std::vector<view::Panel> panels;
    for (const SearchResult& other : searches) {
      if (other.search.contender.name != learner) continue;
      if (panels.empty() && &other != &s) break;  // drawn with the first of them
      auto panel = *surface_line(other.search, other.surface);
      panel.title = other.stream;
      panels.push_back(std::move(panel));
    }
    if (!panels.empty())
      doc.figure(
          "search-" + learner, view::line_chart(panels, {.title = "Grid search: " + learner}),
          fmt::format("Mean NSE over the grid of {}, ± standard deviation over seeds.", learner));
  }
}

}  // namespace kalstream::paper
