// Tables 1 and 2, the published numbers beside the measured ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "eval/statistics.h"
#include "io/results.h"
#include "paper/report_parts.h"
#include "view/table.h"

namespace kalstream::paper {
namespace {

using view::Align;
using view::Cell;

std::string interval(const Interval& i) { return fmt::format("{:.2f} ± {:.2f}", i.middle, i.half); }

std::string interval(double middle, double half) {
  return std::isfinite(middle) ? fmt::format("{:.3f} ± {:.3f}", middle, half) : "–";
}

std::string ratio(double measured, double published) {
  const double r = measured / published;
  return std::isfinite(r) ? fmt::format("{:.2f}", r) : "–";
}

std::string seconds(double s) { return std::isfinite(s) ? fmt::format("{:.3g}", s) : "–"; }

std::string steps(double s) { return std::isfinite(s) ? fmt::format("{:.0f}", s) : "failed"; }

void add_stream_table(const Table1Stream& s, view::Document& doc) {
  doc.subheading(s.stream.label);
  const NetworkOptions network = options_of(variants().front(), s.stream.experiment).network;
  doc.paragraph(fmt::format("Data: {}. n_s = {}, n_x = {}.", s.stream.origin, network.hidden,
                            s.stream.data.n_inputs() + 1));
  if (s.rows.empty()) return;
  const bool comparable = !s.stream.substitute;

  view::Table table({{"learner", Align::left},
                     {"published"},
                     {"measured"},
                     {"ratio"},
                     {"published"},
                     {"measured"},
                     {"ratio"},
                     {"NSE"},
                     {"kNSE"}});
  table.set_groups(
      {{"", 1}, {"NSE, interval", 3}, {"kNSE, interval", 3}, {"mean over steps and seeds", 2}});
  double lowest = INFINITY;
  for (const Table1Row& row : s.rows) lowest = std::min(lowest, row.summary.nse_mean);
  bool published_rows = true;
  for (const Table1Row& row : s.rows) {
    if (published_rows && !as_published(row)) table.add_rule();
    published_rows = as_published(row);
    const Summary& m = row.summary;
    const Table1Entry* p = row.published;
    const auto beside = [&](double measured, double published) -> std::string {
      return p == nullptr || !comparable ? "–" : ratio(measured, published);
    };
    const std::string mean_text = interval(m.nse_mean, m.nse_deviation);
    table.add_row({std::string(row.variant->label), p == nullptr ? "–" : interval(p->nse),
                   interval(m.nse_band_middle, m.nse_band_half),
                   p == nullptr ? "–" : beside(m.nse_band_middle, p->nse.middle),
                   p == nullptr ? "–" : interval(p->knse),
                   interval(m.knse_band_middle, m.knse_band_half),
                   p == nullptr ? "–" : beside(m.knse_band_middle, p->knse.middle),
                   Cell(mean_text, m.nse_mean <= lowest), number_text(m.knse_mean)});
  }
  doc.table(
      std::move(table),
      comparable ? "" : "The published numbers are those of the real stream, not of this one.");
}

std::vector<const Table1Stream*> streams_with_rows(const Table1& t) {
  std::vector<const Table1Stream*> streams;
  for (const Table1Stream& s : t.streams)
    if (!s.rows.empty()) streams.push_back(&s);
  return streams;
}

/// A row per learner, a column per stream.
view::Table learners_by(const std::vector<const Table1Stream*>& streams) {
  std::vector<view::Column> columns{{"learner", Align::left}};
  for (const Table1Stream* s : streams) columns.push_back({s->stream.label});
  return view::Table(columns);
}

void add_overview(const Table1& t, view::Document& doc) {
  const auto streams = streams_with_rows(t);
  if (streams.empty()) return;
  view::Table table = learners_by(streams);
  bool published_rows = true;
  for (std::size_t k = 0; k < streams.front()->rows.size(); ++k) {
    const Variant& v = *streams.front()->rows[k].variant;
    if (published_rows && v.learner.empty()) table.add_rule();
    published_rows = !v.learner.empty();
    std::vector<Cell> cells{std::string(v.label)};
    for (const Table1Stream* s : streams) {
      double lowest = INFINITY;
      for (const Table1Row& row : s->rows) lowest = std::min(lowest, row.summary.nse_mean);
      const Summary& m = s->rows[k].summary;
      cells.emplace_back(interval(m.nse_mean, m.nse_deviation), m.nse_mean <= lowest);
    }
    table.add_row(std::move(cells));
  }
  doc.table(std::move(table), "Mean NSE ± standard deviation of the runs' means over seeds.");
}

void add_time_table(const Table1& t, view::Document& doc) {
  const auto streams = streams_with_rows(t);
  if (streams.empty()) return;
  view::Table table = learners_by(streams);
  const auto beside = [](double measured, double published, int digits) {
    return fmt::format("{:.{}g} ({:.{}g})", measured, digits, published, digits);
  };
  for (std::size_t k = 0; k < streams.front()->rows.size(); ++k) {
    if (streams.front()->rows[k].published == nullptr) continue;
    std::vector<Cell> cells{std::string(streams.front()->rows[k].variant->label)};
    for (const Table1Stream* s : streams)
      cells.emplace_back(beside(s->rows[k].summary.seconds, s->rows[k].published->seconds, 3));
    table.add_row(std::move(cells));
  }
  if (find_row(*streams.front(), "ekf") != nullptr &&
      find_row(*streams.front(), "alg2") != nullptr) {
    table.add_rule();
    std::vector<Cell> cells{"EKF : Algorithm 2"};
    for (const Table1Stream* s : streams) {
      const Table1Row& ekf = *find_row(*s, "ekf");
      const Table1Row& alg2 = *find_row(*s, "alg2");
      cells.emplace_back(beside(ekf.summary.seconds / alg2.summary.seconds,
                                ekf.published->seconds / alg2.published->seconds, 3));
    }
    table.add_row(std::move(cells));
  }
  doc.table(std::move(table),
            fmt::format("Seconds of the median run, 2,541 steps, one core per run on {}; in "
                        "parentheses as published.",
                        machine_name()));
}

}  // namespace

void add_table1(const Table1& t, view::Document& doc) {
  doc.heading("Table 1: six regression streams");
  doc.paragraph(fmt::format(
      "2,541 steps (rows 10 to 2,550, as in the published programs); {}. NSE is the squared "
      "one-step error over the "
      "variance of the target, kNSE the same for forecasts {} steps ahead, made with the inputs "
      "until then and no later target. The **interval** is the paper's: middle and half-width of "
      "the "
      "5th–95th percentile band over seeds, taken at each step and averaged over steps. The "
      "**mean** "
      "over steps and seeds is lower, since errors are skewed; ± beside it is the standard "
      "deviation of "
      "the runs' means.",
      seeds_text(t.seeds), forecast_horizon));
  add_overview(t, doc);
  add_time_table(t, doc);
  for (const Table1Stream& s : t.streams) add_stream_table(s, doc);
}

void add_table2(const Table2& t, view::Document& doc) {
  doc.heading("Table 2: binary addition");
  doc.paragraph(fmt::format(
      "Steps until 500 predictions in a row have the right sign; failed at 100,000. Five streams "
      "per "
      "n; {} each (the paper has one run per stream), the streams with the paper's numbers being "
      "its own files or, if there are none, other draws of the same process.",
      seeds_text(t.seeds)));
  for (const Table2Part& part : t.parts) {
    doc.subheading(fmt::format("n = {}", part.n));
    std::vector<view::Column> columns{
        {"learner", Align::left}, {"sustained"}, {"median steps"}, {"median s"}};
    for (const Stream& s : part.streams) columns.push_back({s.label});
    view::Table table(columns);
    for (const Table2Row& row : part.rows) {
      if (row.published != nullptr) {
        const auto& all = row.published->steps;
        const auto fine =
            std::count_if(all.begin(), all.end(), [](double v) { return std::isfinite(v); });
        std::vector<Cell> cells{fmt::format("{}, published", row.variant->label),
                                fmt::format("{} of {}", fine, all.size()), steps(median(all)),
                                seconds(median(row.published->seconds))};
        for (std::size_t s = 0; s < part.streams.size(); ++s) cells.emplace_back(steps(all[s]));
        table.add_row(std::move(cells));
      }
      std::vector<Cell> cells{std::string(row.variant->label),
                              fmt::format("{} of {}", row.sustained(), row.attempts()),
                              steps(row.median_steps()), seconds(row.median_seconds())};
      for (const auto& runs : row.runs) {
        std::vector<std::string> texts;
        for (const RunResult& run : runs)
          texts.push_back(run.sustained_at ? fmt::format("{}", *run.sustained_at) : "failed");
        cells.emplace_back(fmt::format("{}", fmt::join(texts, ", ")));
      }
      table.add_row(std::move(cells));
      if (row.published != nullptr) table.add_rule();
    }
    std::vector<std::string> origins;
    for (const Stream& s : part.streams) origins.push_back(s.origin);
    doc.table(std::move(table),
              fmt::format("Steps of each run, by stream: {}.", fmt::join(origins, ", ")));
  }
}

}  // namespace kalstream::paper
