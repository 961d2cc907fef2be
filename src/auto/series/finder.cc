#include "auto/series/finder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

#include "kernels/kernels.h"

namespace kalstream {
namespace {

constexpr std::uint64_t first_look = 24;
constexpr std::uint64_t look_every = 2048;
constexpr std::size_t cycles = 3;            // that must fit
constexpr std::size_t cycles_of_longer = 2;  // the same, of a multiple of a period
constexpr std::size_t cycles_of_means = 2;   // the same, where phases have means of their own
constexpr std::size_t most_by_means = 512;   // samples
// By how much the criterion must fall. Of 200 made-up series of 32 samples without a period, one in
// fifty random walks has one all the same, and one in ten of noise.
constexpr double least_gain = 8;
constexpr double least_peak = 0.2;  // of r(m) …
constexpr double least_rise = 0.2;  // … above the lowest r before it
constexpr double least_of_changes = 0.1;
constexpr double sure = 4;               // standard deviations, 1/√n, of r without any period
constexpr double sure_of_changes = 2.5;  // the same, √(g/n), of changes over g
constexpr double better = 0.05;          // that a longer period must be than the shorter one
constexpr double outlier = 4;            // deviations
constexpr double least_squares = 1e-9;   // about phases, of those without: rounding

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

std::vector<double> autocorrelation(const std::vector<double>& y, std::size_t most_lag) {
  const auto& dot = kernels::active().dot;
  const double all = dot(y.size(), y.data(), y.data());
  std::vector<double> r(most_lag + 1);
  for (std::size_t m = 0; m <= most_lag; ++m)
    r[m] = all > 0 ? dot(y.size() - m, y.data(), y.data() + m) / all : 0;
  return r;
}

// Of y_t − y_{t−g} with what it was m before, g = over.
double correlation_of_changes(const std::vector<double>& y, std::size_t m, std::size_t over) {
  double product = 0;
  double square = 0;
  for (std::size_t t = m + over; t < y.size(); ++t) {
    const double now = y[t] - y[t - over];
    const double before = y[t - m] - y[t - m - over];
    product += now * before;
    square += (now * now + before * before) / 2;
  }
  return square > 0 ? product / square : 0;
}

// Σ (c_t − the mean of its phase)², for m phases.
double squares_about_phases(const std::vector<double>& c, std::size_t m) {
  double squares = 0;
  for (std::size_t phase = 0; phase < m; ++phase) {
    double sum = 0;
    double n = 0;
    for (std::size_t t = phase; t < c.size(); t += m, ++n) sum += c[t];
    for (std::size_t t = phase; t < c.size(); t += m)
      squares += (c[t] - sum / n) * (c[t] - sum / n);
  }
  return squares;
}

// The period whose phases explain the changes of the series best, by Schwarz' criterion
//   n ln(squares without/squares with m means) − (m − 1) ln n;   0: none explains enough.
// It sees in two cycles what takes the autocorrelation three and more.
std::size_t period_by_means(const std::vector<double>& y) {
  std::vector<double> c(y.size() - 1);
  for (std::size_t t = 0; t < c.size(); ++t) c[t] = y[t + 1] - y[t];
  straighten(c);
  const auto n = static_cast<double>(c.size());
  const double without = squares_about_phases(c, 1);
  if (!(without > 0)) return 0;
  std::size_t best = 0;
  double gain = least_gain;
  for (std::size_t m = 2; m <= c.size() / cycles_of_means; ++m) {
    const double with = std::max(squares_about_phases(c, m), least_squares * without);
    const double now = n * std::log(without / with) - static_cast<double>(m - 1) * std::log(n);
    if (now <= gain) continue;
    gain = now;
    best = m;
  }
  return best;
}

}  // namespace

bool is_time_for_periods(std::uint64_t samples) {
  if (samples >= look_every) return samples % look_every == 0;
  return samples >= first_look && samples % (std::bit_floor(samples) / 4) == 0;
}

std::vector<double> find_periods(const LongPast& past) try {
  if (past.count() < first_look) return {};
  const auto n =
      static_cast<std::size_t>(std::min<std::uint64_t>(past.count(), LongPast::capacity));
  std::vector<double> y(n);
  for (std::size_t t = 0; t < n; ++t) y[t] = past[n - t];
  straighten(y);
  const std::size_t most = n / cycles_of_longer;
  const std::vector<double> r = autocorrelation(y, most);

  const auto length = static_cast<double>(n);
  const auto is_peak = [&](std::size_t m) {
    // r falls with m by itself: a perfect period has 1 − m/n.
    const double whole = r[m] * length / (length - static_cast<double>(m));
    if (whole < std::max(least_peak, sure / std::sqrt(length))) return false;
    const std::size_t reach = std::max<std::size_t>(1, m / 12);
    if (m + reach > most) return false;
    for (std::size_t l = m - std::min(m - 1, reach); l <= m + reach; ++l)
      if (r[l] > r[m]) return false;
    const std::size_t over = std::max<std::size_t>(1, m / 8);
    const double noise = sure_of_changes * std::sqrt(static_cast<double>(over) / length);
    return correlation_of_changes(y, m, over) >= std::max(least_of_changes, noise);
  };
  std::vector<double> found;
  double lowest = 1;
  double best = 0;
  std::size_t over = 1;
  for (std::size_t m = 2; m < most; ++m) {
    const bool is_longer = !found.empty() && m % static_cast<std::size_t>(found[0]) == 0;
    if (!is_longer && m >= n / cycles) continue;
    lowest = std::min(lowest, r[m - 1]);
    if (r[m] - lowest < least_rise || !is_peak(m)) continue;
    if (found.empty()) {
      found.push_back(static_cast<double>(m));
      over = std::max<std::size_t>(1, m / 8);
      best = correlation_of_changes(y, m, over);
    } else if (const double now = correlation_of_changes(y, m, over); now > best + better) {
      found.erase(found.begin() + 1, found.end());
      found.push_back(static_cast<double>(m));
      best = now;
    }
  }
  if (found.empty() && n <= most_by_means)
    if (const std::size_t m = period_by_means(y); m > 0) found.push_back(static_cast<double>(m));
  return found;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace kalstream
