#include "eval/backtest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/finite.h"
#include "eval/statistics.h"

namespace kalstream {
namespace {

double squared_error(std::span<const double> d, std::span<const double> d_hat) {
  double sum = 0;
  for (std::size_t k = 0; k < d.size(); ++k) sum += (d[k] - d_hat[k]) * (d[k] - d_hat[k]);
  return sum;
}

std::string shortest_text(double v) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v);
  return {text.data(), end.ptr};
}

}  // namespace

Backtest::Backtest(const Dataset& data, std::size_t history, std::size_t horizon,
                   const std::vector<double>& periods, double coverage)
    : data_(data),
      history_(history),
      first_(std::min<std::size_t>(1000, history / 4)),
      bounded_(coverage > 0),
      leads_(horizon) {
  constexpr std::size_t widths = 2000;  // enough for a median
  keep_every_ = std::max<std::size_t>(1, history / widths);
  for (const double period : periods) {
    const auto steps = static_cast<std::size_t>(std::lround(period));
    if (steps < 2 || steps >= history / 2) continue;
    periods_.push_back(steps);
    names_.push_back("seasonal naive (" + shortest_text(static_cast<double>(steps)) + ")");
  }
  periods_.push_back(0);
  names_.emplace_back("naive");
  for (Sums& sums : leads_) sums.rival_squared.assign(names_.size(), 0.0);
}

std::span<const double> Backtest::targets_at(const Timeline& timeline, std::size_t place) const {
  if (place >= timeline.row_at.size()) return {};
  const std::size_t row = timeline.row_at[place];
  if (row == Timeline::none || row >= history_ || !all_finite(data_.d(row))) return {};
  return data_.d(row);
}

void Backtest::add_periods(const Timeline& timeline, const std::vector<double>& periods) {
  for (const double period : periods) {
    const auto m = static_cast<std::size_t>(std::lround(period));
    if (m < 2 || m >= history_ / 2) continue;
    names_.push_back("seasonal naive (" + shortest_text(static_cast<double>(m)) + ")");
    for (std::size_t lead = 1; lead <= leads_.size(); ++lead) {
      const std::size_t back = m * ((lead + m - 1) / m);
      double sum = 0;
      double count = 0;
      for (std::size_t t = first_; t < history_; ++t) {
        if (timeline.kind[t] != Timeline::Row::taken || timeline.place[t] + lead < back) continue;
        const auto d = targets_at(timeline, timeline.place[t] + lead);
        const auto before = targets_at(timeline, timeline.place[t] + lead - back);
        if (d.empty() || before.empty()) continue;
        sum += squared_error(d, before);
        ++count;
      }
      Sums& sums = leads_[lead - 1];
      sums.rival_squared.push_back(sum / std::max(count, 1.0) * static_cast<double>(sums.count));
    }
  }
}

void Backtest::add(const Timeline& timeline, std::size_t t, const Forecaster& said) {
  if (t < first_) return;
  const std::size_t leads = said.values().size() / data_.n_targets();
  for (std::size_t lead = 1; lead <= std::min(leads, leads_.size()); ++lead)
    add_lead(timeline, t, lead, said);
}

void Backtest::add_lead(const Timeline& timeline, std::size_t t, std::size_t lead,
                        const Forecaster& said) {
  const std::size_t n_d = data_.n_targets();
  const std::size_t now = timeline.place[t];
  const auto d = targets_at(timeline, now + lead);
  if (d.empty()) return;
  std::vector<double> errors;
  for (const std::size_t m : periods_) {
    const std::size_t back = m == 0 ? lead : m * ((lead + m - 1) / m);
    const auto repeated =
        back > now + lead ? std::span<const double>{} : targets_at(timeline, now + lead - back);
    if (repeated.empty()) return;
    errors.push_back(squared_error(d, repeated));
  }
  Sums& sums = leads_[lead - 1];
  ++sums.count;
  sums.squared += squared_error(d, said.values().subspan((lead - 1) * n_d, n_d));
  for (std::size_t r = 0; r < errors.size(); ++r) sums.rival_squared[r] += errors[r];
  if (!bounded_) return;
  for (std::size_t k = 0; k < n_d; ++k) {
    const Interval& bounds = said.bounds()[(lead - 1) * n_d + k];
    if (std::isnan(bounds.low)) continue;
    ++sums.bounds;
    sums.held += bounds.holds(d[k]) ? 1 : 0;
    if (sums.count % keep_every_ == 0) sums.widths.push_back(bounds.high - bounds.low);
  }
}

LeadScore Backtest::score(std::size_t lead, const Sums& sums) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const double n = static_cast<double>(sums.count) * static_cast<double>(data_.n_targets());
  LeadScore score{.lead = lead, .count = sums.count, .rmse = std::sqrt(sums.squared / n)};
  for (const double squared : sums.rival_squared)
    score.rival_rmse.push_back(std::sqrt(squared / n));
  score.coverage = sums.bounds == 0
                       ? unknown
                       : static_cast<double>(sums.held) / static_cast<double>(sums.bounds);
  score.median_width = sums.widths.empty() ? unknown : median(sums.widths);
  return score;
}

std::vector<LeadScore> Backtest::scores() const {
  std::vector<LeadScore> scores;
  Sums all{.rival_squared = std::vector<double>(names_.size(), 0.0)};
  for (std::size_t lead = 1; lead <= leads_.size(); ++lead) {
    const Sums& sums = leads_[lead - 1];
    scores.push_back(score(lead, sums));
    all.count += sums.count;
    all.squared += sums.squared;
    for (std::size_t r = 0; r < names_.size(); ++r) all.rival_squared[r] += sums.rival_squared[r];
    all.bounds += sums.bounds;
    all.held += sums.held;
    all.widths.insert(all.widths.end(), sums.widths.begin(), sums.widths.end());
  }
  scores.push_back(score(0, all));
  return scores;
}

}  // namespace kalstream
