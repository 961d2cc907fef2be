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

Backtest::Backtest(std::size_t history, std::size_t outputs, std::size_t horizon, std::size_t late,
                   const std::vector<double>& periods, double coverage)
    : history_(history),
      n_d_(outputs),
      first_(std::min<std::size_t>(1000, history / 4)),
      bounded_(coverage > 0),
      leads_(horizon),
      recent_(horizon + late + 1) {
  constexpr std::size_t widths = 2000;  // enough for a median
  keep_every_ = std::max<std::size_t>(1, history / widths);
  for (const double period : periods)
    if (add_rival(period)) periods_.push_back(static_cast<std::size_t>(std::lround(period)));
  periods_.push_back(0);
  names_.emplace_back("naive");
  for (Sums& sums : leads_) sums.rival_squared.assign(names_.size(), 0.0);
}

// False for a period that is too long to be repeated.
bool Backtest::add_rival(double period) {
  const auto steps = static_cast<std::size_t>(std::lround(period));
  if (steps < 2 || steps >= history_ / 2) return false;
  names_.push_back("seasonal naive (" + shortest_text(static_cast<double>(steps)) + ")");
  return true;
}

std::span<const double> Backtest::target_at(std::size_t place) const {
  if ((place + 1) * n_d_ > targets_.size()) return {};
  const auto d = std::span(targets_).subspan(place * n_d_, n_d_);
  return all_finite(d) ? d : std::span<const double>{};
}

void Backtest::add_target(std::size_t place, std::span<const double> d) {
  targets_.resize(std::max(targets_.size(), (place + 1) * n_d_),
                  std::numeric_limits<double>::quiet_NaN());
  std::ranges::copy(d, targets_.begin() + place * n_d_);
  for (std::size_t lead = 1; lead <= std::min(leads_.size(), place); ++lead) {
    const Forecast& said = recent_[(place - lead) % recent_.size()];
    if (said.place == place - lead && said.value.size() >= lead * n_d_) add_lead(said, lead, d);
  }
}

void Backtest::add_forecast(std::size_t place, std::size_t t, const Answer& said) {
  if (t < first_) return;
  made_after_.push_back(place);
  Forecast& kept = recent_[place % recent_.size()];
  kept.place = place;
  kept.value.assign(said.forecast.begin(), said.forecast.end());
  kept.bounds.assign(said.forecast_interval.begin(), said.forecast_interval.end());
}

void Backtest::add_lead(const Forecast& said, std::size_t lead, std::span<const double> d) {
  const std::size_t now = said.place;
  const std::size_t first = (lead - 1) * n_d_;
  if (std::isnan(said.value[first])) return;
  std::vector<double> errors;
  for (const std::size_t m : periods_) {
    const std::size_t back = m == 0 ? lead : m * ((lead + m - 1) / m);
    const auto repeated =
        back > now + lead ? std::span<const double>{} : target_at(now + lead - back);
    if (repeated.empty()) return;
    errors.push_back(squared_error(d, repeated));
  }
  Sums& sums = leads_[lead - 1];
  ++sums.count;
  sums.squared += squared_error(d, std::span(said.value).subspan(first, n_d_));
  for (std::size_t r = 0; r < errors.size(); ++r) sums.rival_squared[r] += errors[r];
  if (!bounded_) return;
  for (std::size_t k = 0; k < n_d_; ++k) {
    const Interval& bounds = said.bounds[first + k];
    if (std::isnan(bounds.low)) continue;
    ++sums.bounds;
    sums.held += bounds.holds(d[k]) ? 1 : 0;
    if (sums.count % keep_every_ == 0) sums.widths.push_back(bounds.high - bounds.low);
  }
}

void Backtest::add_periods(const std::vector<double>& periods) {
  for (const double period : periods) {
    if (!add_rival(period)) continue;
    const auto m = static_cast<std::size_t>(std::lround(period));
    for (std::size_t lead = 1; lead <= leads_.size(); ++lead) {
      const std::size_t back = m * ((lead + m - 1) / m);
      double sum = 0;
      double count = 0;
      for (const std::size_t place : made_after_) {
        if (place + lead < back) continue;
        const auto d = target_at(place + lead);
        const auto before = target_at(place + lead - back);
        if (d.empty() || before.empty()) continue;
        sum += squared_error(d, before);
        ++count;
      }
      Sums& sums = leads_[lead - 1];
      sums.rival_squared.push_back(sum / std::max(count, 1.0) * static_cast<double>(sums.count));
    }
  }
}

LeadScore Backtest::score(std::size_t lead, const Sums& sums) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const double n = static_cast<double>(sums.count) * static_cast<double>(n_d_);
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
