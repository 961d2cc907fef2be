// What of the paper's claims holds, in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "paper/report_parts.h"

namespace kalstream::paper {
namespace {

double nse(const Table1Stream& s, std::string_view variant) {
  const Table1Row* row = find_row(s, variant);
  return row == nullptr ? NAN : row->summary.nse_mean;
}

double run_time(const Table1Stream& s, std::string_view variant) {
  const Table1Row* row = find_row(s, variant);
  return row == nullptr ? NAN : row->summary.seconds;
}

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

}  // namespace kalstream::paper
