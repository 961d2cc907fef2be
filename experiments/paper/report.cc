#include "paper/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "eval/contenders.h"
#include "eval/statistics.h"
#include "io/machine.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "view/chart.h"
#include "view/table.h"

namespace kalstream::paper {
namespace {

using view::Align;
using view::Cell;

// ---- Words and numbers

std::string number(double v) { return std::isfinite(v) ? fmt::format("{:.3f}", v) : "–"; }

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

std::string seed_list(const std::vector<std::uint64_t>& seeds) {
  return seeds.size() == 1 ? fmt::format("seed {}", seeds.front())
                           : fmt::format("seeds {} to {}", seeds.front(), seeds.back());
}

bool as_published(const Table1Row& row) { return !row.variant->learner.empty(); }

double nse(const Table1Stream& s, std::string_view variant) {
  const Table1Row* row = find_row(s, variant);
  return row == nullptr ? NAN : row->summary.nse_mean;
}

double run_time(const Table1Stream& s, std::string_view variant) {
  const Table1Row* row = find_row(s, variant);
  return row == nullptr ? NAN : row->summary.seconds;
}

// ---- What holds

/// {EKF, Algorithm 2} < DEKF < {Adam, RMSprop} < SGD: the pairs that break it.
std::vector<std::string> broken_order(const Table1Stream& s) {
  static const std::vector<std::vector<std::string_view>> order{
      {"ekf", "alg2"}, {"dekf"}, {"adam", "rmsprop"}, {"sgd"}};
  std::vector<std::string> broken;
  for (std::size_t k = 0; k + 1 < order.size(); ++k)
    for (const auto better : order[k])
      for (const auto worse : order[k + 1]) {
        const Table1Row* a = find_row(s, better);
        const Table1Row* b = find_row(s, worse);
        if (a == nullptr || b == nullptr || a->summary.nse_mean < b->summary.nse_mean) continue;
        broken.push_back(fmt::format("{} ({:.3f}) is not below {} ({:.3f})", a->variant->label,
                                     a->summary.nse_mean, b->variant->label, b->summary.nse_mean));
      }
  return broken;
}

constexpr std::ptrdiff_t published_learners = 6;

void add_order(const Table1& table, std::vector<std::string>& out) {
  std::vector<std::string> holds;
  std::vector<std::string> fails;
  for (const Table1Stream& s : table.streams) {
    if (std::count_if(s.rows.begin(), s.rows.end(), as_published) < published_learners) continue;
    const auto broken = broken_order(s);
    if (broken.empty())
      holds.push_back(s.stream.label);
    else
      fails.push_back(fmt::format("{}: {}", s.stream.label, fmt::join(broken, ", ")));
  }
  if (holds.empty() && fails.empty()) return;
  out.push_back(fmt::format(
      "**Order.** {{EKF, Algorithm 2}} < DEKF < {{Adam, RMSprop}} < SGD in mean NSE holds on {}{}.",
      holds.empty() ? "no stream" : fmt::format("{}", fmt::join(holds, ", ")),
      fails.empty() ? "" : fmt::format("; it does not on {}", fmt::join(fails, "; "))));
}

/// The largest difference an entry may have from the published one before it is named.
constexpr double band_tolerance = 0.04;

/// Percentiles over fewer seeds than were published are not comparable.
constexpr std::size_t published_seeds = 20;

void add_bands(const Table1& table, std::vector<std::string>& out) {
  std::size_t entries = 0;
  std::vector<std::string> outside;
  for (const Table1Stream& s : table.streams) {
    if (s.stream.substitute) continue;
    for (const Table1Row& row : s.rows) {
      if (row.published == nullptr) continue;
      const auto compare = [&](const char* what, double measured, double published) {
        ++entries;
        if (std::abs(measured - published) > band_tolerance)
          outside.push_back(fmt::format("{} {} {} {:.3f} (published {:.2f})", s.stream.label,
                                        row.variant->label, what, measured, published));
      };
      const Summary& m = row.summary;
      compare("NSE", m.nse_band_middle, row.published->nse.middle);
      compare("NSE half-width", m.nse_band_half, row.published->nse.half);
      compare("kNSE", m.knse_band_middle, row.published->knse.middle);
      compare("kNSE half-width", m.knse_band_half, row.published->knse.half);
    }
  }
  if (entries == 0 || table.seeds.size() < published_seeds) return;
  out.push_back(fmt::format(
      "**Published intervals.** {} of {} numbers (middle and half-width, NSE and kNSE) lie within "
      "±{} of the published ones.{}",
      entries - outside.size(), entries, band_tolerance,
      outside.empty() ? "" : fmt::format(" Not: {}.", fmt::join(outside, "; "))));
}

struct Spread {
  double low = INFINITY;
  double high = -INFINITY;
  void add(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool any() const { return low <= high; }
  std::string text(int digits = 2) const {
    return fmt::format("{:.{}f} to {:.{}f}", low, digits, high, digits);
  }
};

Spread over_streams(const Table1& table, const auto& value) {
  Spread spread;
  for (const Table1Stream& s : table.streams) spread.add(value(s));
  return spread;
}

void add_ratios(const Table1& table, std::vector<std::string>& out) {
  const auto error =
      over_streams(table, [](const Table1Stream& s) { return nse(s, "alg2") / nse(s, "ekf"); });
  const auto time = over_streams(
      table, [](const Table1Stream& s) { return run_time(s, "ekf") / run_time(s, "alg2"); });
  if (error.any())
    out.push_back(fmt::format(
        "**Algorithm 2 against EKF.** Its mean NSE is {} times EKF's, its run {} times shorter "
        "(published: 12 to 15). Both are the same code here; the ratio is a matter of "
        "implementation.",
        error.text(), time.text(1)));

  const auto text_only =
      over_streams(table, [](const Table1Stream& s) { return nse(s, "alg2-paper"); });
  const auto floor =
      over_streams(table, [](const Table1Stream& s) { return nse(s, "alg2-floor"); });
  if (text_only.any() && floor.any())
    out.push_back(fmt::format(
        "**The noise floor decides.** As its text defines it, Algorithm 2 reaches a mean NSE of "
        "{} (1 is as good as the mean of the target); with the 0.5 added to the measurement noise "
        "that the published programs have and the text does not, {}.",
        text_only.text(), floor.text()));

  const auto dekf = over_streams(
      table, [](const Table1Stream& s) { return nse(s, "dekf-open") / nse(s, "alg2"); });
  const auto ekf = over_streams(
      table, [](const Table1Stream& s) { return nse(s, "ekf-open") / nse(s, "alg2"); });
  if (dekf.any() && ekf.any())
    out.push_back(fmt::format(
        "**Gate biases are uneven in the published comparison.** Given Algorithm 2's, the mean NSE "
        "of DEKF is {} times and of EKF {} times Algorithm 2's.",
        dekf.text(), ekf.text()));
}

void add_addition(const Table2& table, std::vector<std::string>& out) {
  for (const Table2Part& part : table.parts) {
    std::vector<std::string> rates;
    for (const Table2Row& row : part.rows)
      rates.push_back(
          fmt::format("{}: {} of {}", row.variant->label, row.sustained(), row.attempts()));
    out.push_back(fmt::format("**Adding {} numbers**, sustained within 100,000 steps. {}.", part.n,
                              fmt::join(rates, "; ")));
  }
}

// ---- Table 1

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
                   Cell(mean_text, m.nse_mean <= lowest), number(m.knse_mean)});
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

// ---- Figures

constexpr std::size_t smoothing = 100;
constexpr std::size_t first_shown = 25;  // before it, a mean of single errors

std::string learning_curves(const Table1& t) {
  std::vector<view::Panel> panels;
  for (const Table1Stream& s : t.streams) {
    if (s.rows.empty()) continue;
    view::Panel panel{.title = s.stream.label,
                      .x_label = "step",
                      .y_label = "median NSE",
                      .y_scale = view::Scale::log};
    for (const Table1Row& row : s.rows) {
      if (!as_published(row)) continue;
      std::vector<std::span<const double>> runs;
      for (const RunResult& run : row.outcome.runs)
        runs.push_back(std::span(run.squared_error).subspan(published_warm_up));
      const std::vector<double> curve = moving_average(quantile_over_runs(runs, 0.5), smoothing);
      view::Series series{.name = std::string(row.variant->label)};
      for (std::size_t k = first_shown - 1; k < curve.size(); ++k) {
        series.x.push_back(static_cast<double>(k + 1));
        series.y.push_back(curve[k] / row.outcome.runs.front().target_variance);
      }
      panel.series.push_back(std::move(series));
    }
    panels.push_back(std::move(panel));
  }
  return view::line_chart(
      panels,
      {.title = "Median squared error over time",
       .subtitle = fmt::format(
           "median over {} seeds at each step, over the variance of the target; mean of the "
           "last {} steps; log scale",
           t.seeds.size(), smoothing)});
}

std::string run_time_chart(const Table1& t) {
  view::BarPanel panel{.x_label = "seconds a run, mean over streams; log scale",
                       .x_scale = view::Scale::log};
  for (const Variant& v : variants()) {
    if (!v.table1 || v.learner.empty()) continue;
    std::vector<double> measured;
    std::vector<double> published;
    for (const Table1Stream& s : t.streams)
      if (const Table1Row* row = find_row(s, v.key)) {
        measured.push_back(row->summary.seconds);
        published.push_back(row->published->seconds);
      }
    if (measured.empty()) continue;
    panel.groups.push_back({std::string(v.label),
                            {{.name = "published (MATLAB, i7-7500U)", .value = mean(published)},
                             {.name = "kalstream", .value = mean(measured)}}});
  }
  return view::bar_chart(
      panel, {.title = "Run-time",
              .subtitle = fmt::format("kalstream {} on {}", version(), machine_name())});
}

void add_figures(const Table1& t, view::Document& doc) {
  if (std::all_of(t.streams.begin(), t.streams.end(), [](const auto& s) { return s.rows.empty(); }))
    return;
  doc.heading("Figures");
  doc.figure(
      "learning-curves", learning_curves(t),
      fmt::format("Median NSE over time (Figures 1 and 2 of the paper): at each step the median "
                  "over {} seeds, then the mean of the last {} steps.",
                  t.seeds.size(), smoothing));
  doc.figure("run-time", run_time_chart(t),
             "Published and measured run-times. The machines differ, so compare learners within a "
             "colour; the distance between the colours is machine and implementation together.");
}

void add_table1(const Reproduction& r, view::Document& doc) {
  const Table1& t = *r.table1;
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
      seed_list(t.seeds), forecast_horizon));
  add_overview(t, doc);
  add_time_table(t, doc);
  for (const Table1Stream& s : t.streams) add_stream_table(s, doc);
}

// ---- Table 2

void add_table2(const Table2& t, view::Document& doc) {
  doc.heading("Table 2: binary addition");
  doc.paragraph(fmt::format(
      "Steps until 500 predictions in a row have the right sign; failed at 100,000. Five streams "
      "per "
      "n; {} each (the paper has one run per stream), the streams with the paper's numbers being "
      "its own files or, if there are none, other draws of the same process.",
      seed_list(t.seeds)));
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

// ---- Searches

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

/// What the paper chose from the same grid.
std::vector<std::string> published_point(const SearchResult& s) {
  std::vector<std::string> values;
  const Contender& c = s.search.contender;  // already has the published settings
  for (const GridAxis& axis : s.search.axes)
    for (const Setting& setting : settings_of(c.options))
      if (setting.key == axis.key) values.push_back(setting.value);
  return values;
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
    if (text(wanted.front()) == text(here.front())) return p.nse_mean;
  }
  return NAN;
}

void add_searches(const Reproduction& r, view::Document& doc) {
  const GridSearch& any = r.searches.front().search;
  doc.heading("Grid searches");
  doc.paragraph(fmt::format(
      "The grids the paper searched for its settings: the first {} rows, {} ({} to {}, none of "
      "which the tables use). EKF was not searched; it reuses DEKF's settings.",
      any.evaluation.steps,
      any.seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", any.seeds.size()),
      any.seeds.front(), any.seeds.back()));
  view::Table table({{"stream", Align::left},
                     {"learner", Align::left},
                     {"best here", Align::left},
                     {"mean NSE"},
                     {"published choice", Align::left},
                     {"mean NSE"}});
  for (const SearchResult& s : r.searches) {
    const GridPoint& best = s.surface[best_point(s.surface)];
    const auto chosen = published_point(s);
    table.add_row({s.stream, s.search.contender.name, point_text(s.search, best.values),
                   number(best.nse_mean), point_text(s.search, chosen), number(nse_at(s, chosen))});
  }
  doc.table(std::move(table));
  // Lines of one learner share a figure; a surface has its own.
  for (const SearchResult& s : r.searches) {
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
    for (const SearchResult& other : r.searches) {
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

}  // namespace

std::vector<std::string> verdicts(const Reproduction& r) {
  std::vector<std::string> out;
  if (r.table1 && !r.figures_only) {
    add_order(*r.table1, out);
    add_bands(*r.table1, out);
    add_ratios(*r.table1, out);
  }
  if (r.table2) add_addition(*r.table2, out);
  return out;
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
  if (r.table1 && !r.figures_only) add_table1(r, doc);
  if (r.table1) add_figures(*r.table1, doc);
  if (r.table2) add_table2(*r.table2, doc);
  if (!r.searches.empty()) add_searches(r, doc);

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

namespace {

using Json = nlohmann::ordered_json;

Json json_number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json interval_json(double middle, double half) {
  return {{"middle", json_number(middle)}, {"half", json_number(half)}};
}

Json stream_json(const Stream& s) {
  return {{"stream", s.name},
          {"label", s.label},
          {"origin", s.origin},
          {"substitute", s.substitute},
          {"missing", s.missing()}};
}

Json row_json(const Table1Row& row) {
  const Summary& m = row.summary;
  Json j{{"learner", row.variant->key}, {"label", row.variant->label}};
  j["published"] = nullptr;
  if (row.published != nullptr)
    j["published"] = {{"nse", interval_json(row.published->nse.middle, row.published->nse.half)},
                      {"knse", interval_json(row.published->knse.middle, row.published->knse.half)},
                      {"seconds", row.published->seconds}};
  j["nse"] = interval_json(m.nse_band_middle, m.nse_band_half);
  j["knse"] = interval_json(m.knse_band_middle, m.knse_band_half);
  j["nse_mean"] = json_number(m.nse_mean);
  j["nse_deviation"] = json_number(m.nse_deviation);
  j["knse_mean"] = json_number(m.knse_mean);
  j["seconds"] = json_number(m.seconds);
  j["update_fraction"] = json_number(m.update_fraction);
  j["runs"] = Json::array();
  for (std::size_t k = 0; k < row.outcome.runs.size(); ++k) {
    const RunResult& run = row.outcome.runs[k];
    j["runs"].push_back({{"seed", row.outcome.seeds[k]},
                         {"nse", json_number(run.nse)},
                         {"knse", json_number(run.knse)},
                         {"seconds", run.seconds},
                         {"rejected_updates", run.rejected_updates}});
  }
  return j;
}

Json table2_json(const Table2& t) {
  Json parts = Json::array();
  for (const Table2Part& part : t.parts) {
    Json j{{"n", part.n}, {"streams", Json::array()}, {"rows", Json::array()}};
    for (const Stream& s : part.streams) j["streams"].push_back(stream_json(s));
    for (const Table2Row& row : part.rows) {
      Json one{{"learner", row.variant->key}, {"label", row.variant->label}};
      one["published_steps"] = nullptr;
      if (row.published != nullptr) {
        one["published_steps"] = Json::array();
        for (const double v : row.published->steps)
          one["published_steps"].push_back(json_number(v));
        one["published_seconds"] = Json::array();
        for (const double v : row.published->seconds)
          one["published_seconds"].push_back(json_number(v));
      }
      one["attempts"] = row.attempts();
      one["sustained"] = row.sustained();
      one["median_steps"] = json_number(row.median_steps());
      one["median_seconds"] = json_number(row.median_seconds());
      one["runs"] = Json::array();
      for (std::size_t s = 0; s < row.runs.size(); ++s)
        for (std::size_t k = 0; k < row.runs[s].size(); ++k) {
          const RunResult& run = row.runs[s][k];
          one["runs"].push_back(
              {{"stream", part.streams[s].name},
               {"seed", t.seeds[k]},
               {"sustained_at", run.sustained_at ? Json(*run.sustained_at) : Json(nullptr)},
               {"seconds", run.seconds}});
        }
      j["rows"].push_back(std::move(one));
    }
    parts.push_back(std::move(j));
  }
  return parts;
}

Json search_json(const SearchResult& s) {
  Json j{{"stream", s.stream},
         {"learner", s.search.contender.name},
         {"rows", s.search.evaluation.steps},
         {"seeds", s.search.seeds},
         {"keys", Json::array()},
         {"points", Json::array()}};
  for (const GridAxis& axis : s.search.axes) j["keys"].push_back(axis.key);
  for (const GridPoint& p : s.surface)
    j["points"].push_back({{"values", p.values},
                           {"nse_mean", json_number(p.nse_mean)},
                           {"nse_deviation", json_number(p.nse_deviation)}});
  j["best"] = best_point(s.surface);
  j["published"] = published_point(s);
  return j;
}

}  // namespace

std::string results_json(const Reproduction& r) {
  Json root{{"version", version()},      {"date", today()},
            {"machine", machine_name()}, {"kernels", kernels::target_name()},
            {"command", r.command},      {"quick", r.quick}};
  if (r.table1) {
    root["table1"] = {{"seeds", r.table1->seeds}, {"streams", Json::array()}};
    for (const Table1Stream& s : r.table1->streams) {
      Json j = stream_json(s.stream);
      j["rows"] = Json::array();
      for (const Table1Row& row : s.rows) j["rows"].push_back(row_json(row));
      root["table1"]["streams"].push_back(std::move(j));
    }
  }
  if (r.table2) root["table2"] = {{"seeds", r.table2->seeds}, {"parts", table2_json(*r.table2)}};
  if (!r.searches.empty()) {
    root["searches"] = Json::array();
    for (const SearchResult& s : r.searches) root["searches"].push_back(search_json(s));
  }
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kalstream::paper
