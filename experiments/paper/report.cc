// The report from its parts.
#include "paper/report.h"

#include <fmt/format.h>

#include <cmath>

#include "io/results.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "paper/report_parts.h"

namespace kalstream::paper {

bool as_published(const Table1Row& row) { return !row.variant->learner.empty(); }

std::string number_text(double v) { return std::isfinite(v) ? fmt::format("{:.3f}", v) : "–"; }

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  return seeds.size() == 1 ? fmt::format("seed {}", seeds.front())
                           : fmt::format("seeds {} to {}", seeds.front(), seeds.back());
}

view::Document report(const Reproduction& r) {
  view::Document doc("The paper, run again");
  doc.paragraph(fmt::format(
      "Vural, Ergüt and Kozat, “An Efficient and Effective Second-Order Training Algorithm for "
      "LSTM-based Adaptive Learning” (2020), beside what kalstream {} measures with the published "
      "settings. Machine: {}, {} kernels. Date: {}. Made by `{}`.",
      version(), machine_name(), kernels::target_name(), today(), r.command));
  if (r.quick)
    doc.note(
        "This is the quick form: a few seeds show that everything works, but intervals and rates "
        "need "
        "the full one.");
  if (r.table1)
    for (const Table1Stream& s : r.table1->streams)
      if (s.stream.substitute)
        doc.note(fmt::format("**{}**: {}.", s.stream.label, s.stream.origin));

  if (auto lines = verdicts(r); !lines.empty()) {
    doc.heading("What holds");
    doc.list(std::move(lines));
  }
  if (r.table1 && !r.figures_only) add_table1(*r.table1, doc);
  if (r.table1) add_figures(*r.table1, doc);
  if (r.table2) add_table2(*r.table2, doc);
  if (!r.searches.empty()) add_searches(r.searches, doc);

  if (r.table1 || r.table2) {
    doc.heading("Who takes part");
    std::vector<std::string> rows;
    for (const Variant& v : variants())
      rows.push_back(fmt::format("**{}**: {}", v.label, v.meaning));
    doc.list(std::move(rows));
    doc.paragraph(
        "**Open gates**: the published comparison starts Algorithm 2 with its forget and input "
        "gates "
        "open (bias +b, b = 5 on three streams) and all others with forget +0.5, input −0.5, "
        "output "
        "−0.5. Every difference between the paper's text and its experiments is listed in "
        "docs/presets.md and docs/reproduction.md.");
  }
  return doc;
}

}  // namespace kalstream::paper
