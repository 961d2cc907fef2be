#include "learner/auto/series/finder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/kernels.h"

namespace kalstream {
namespace {

constexpr std::uint64_t first_look = 32;
constexpr std::uint64_t look_every = 2048;
constexpr std::size_t cycles = 3;   // that must fit
constexpr double least_peak = 0.2;  // of r(m) …
constexpr double least_rise = 0.2;  // … above the lowest r before it
constexpr double least_of_changes = 0.1;
constexpr double sure = 4;       // standard deviations, 1/√n, of r without any period
constexpr double better = 0.05;  // that a longer period must be than the shorter one
constexpr double outlier = 4;    // deviations

// Without its straight line, and with outliers cut.
void straighten(std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  double mean = 0;
  double slope = 0;
  for (std::size_t t = 0; t < y.size(); ++t) mean += y[t] / n;
  for (std::size_t t = 0; t < y.size(); ++t)
    slope += (static_cast<double>(t) - (n - 1) / 2) * (y[t] - mean) * 12 / (n * (n * n - 1));
  double variance = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    y[t] -= mean + slope * (static_cast<double>(t) - (n - 1) / 2);
    variance += y[t] * y[t] / n;
  }
  const double reach = outlier * std::sqrt(variance);
  for (double& v : y) v = std::clamp(v, -reach, reach);
}

}  // namespace

PeriodFinder::PeriodFinder() {
  for (auto* v : {&y_, &changes_, &r_, &r_changes_}) v->reserve(LongPast::capacity);
  found_.reserve(2);
}

bool PeriodFinder::is_due(std::uint64_t samples) {
  if (samples >= look_every) return samples % look_every == 0;
  return samples >= first_look &&
         (std::has_single_bit(samples) || (samples % 3 == 0 && std::has_single_bit(samples / 3)));
}

void PeriodFinder::correlate(std::span<const double> y, std::size_t most_lag,
                             std::vector<double>& r) const {
  const double all = kernels::active().dot(y.size(), y.data(), y.data());
  r.resize(most_lag + 1);
  for (std::size_t m = 0; m <= most_lag; ++m)
    r[m] = all > 0 ? kernels::active().dot(y.size() - m, y.data(), y.data() + m) / all : 0;
}

std::span<const double> PeriodFinder::find(const LongPast& past) {
  const auto n =
      static_cast<std::size_t>(std::min<std::uint64_t>(past.count(), LongPast::capacity));
  found_.clear();
  if (n < first_look) return found_;
  y_.resize(n);
  changes_.resize(n - 1);
  for (std::size_t t = 0; t < n; ++t) y_[t] = past[n - t];
  for (std::size_t t = 0; t + 1 < n; ++t) changes_[t] = y_[t + 1] - y_[t];
  straighten(y_);
  straighten(changes_);
  const std::size_t most = n / cycles;
  correlate(y_, most, r_);
  correlate(changes_, most, r_changes_);

  const double noise = sure / std::sqrt(static_cast<double>(n));
  // r falls with m by itself: a perfect period has 1 − m/n.
  const auto whole = [&](double r, std::size_t m) {
    return r * static_cast<double>(n) / static_cast<double>(n - m);
  };
  const auto of_changes = [&](std::size_t m) {
    return whole(std::max({r_changes_[m - 1], r_changes_[m], r_changes_[m + 1]}), m);
  };
  const auto is_peak = [&](std::size_t m) {
    const std::size_t reach = std::max<std::size_t>(1, m / 12);
    for (std::size_t l = m - std::min(m - 1, reach); l <= std::min(most, m + reach); ++l)
      if (r_[l] > r_[m]) return false;
    if (m + reach > most) return false;
    return whole(r_[m], m) >= std::max(least_peak, noise) &&
           of_changes(m) >= std::max(least_of_changes, noise);
  };
  double lowest = 1;
  double best = 0;
  for (std::size_t m = 2; m < most; ++m) {
    lowest = std::min(lowest, r_[m - 1]);
    if (r_[m] - lowest < least_rise || !is_peak(m)) continue;
    if (found_.empty()) {
      found_.push_back(static_cast<double>(m));
      best = of_changes(m);
    } else if (of_changes(m) > best + better) {
      found_.resize(1);
      found_.push_back(static_cast<double>(m));
      best = of_changes(m);
    }
  }
  return found_;
}

}  // namespace kalstream
