#include "forecast/bands.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace {

// Chosen on the series of docs/intervals.md; half or twice of each changes the score by 1 % at
// most.
constexpr double rate = 0.2;                // η
constexpr double steadiness = 3;            // ν
constexpr double firmness = 2;              // κ
constexpr double first_weight = 0.5;        // of the middling mean of errors, in the size expected
constexpr std::uint64_t first_bounds = 10;  // errors
constexpr double neighbours = 0.2;  // leads on either side that lend strength, in parts of the lead
constexpr double dense = 100;       // targets late for which half of the scores are kept

std::size_t pretended_scores(std::size_t lead) { return std::min<std::size_t>(20 + 8 * lead, 512); }

}  // namespace

ForecastBands::ForecastBands(std::size_t horizon, std::vector<double> coverages)
    : coverages_(std::move(coverages)),
      waiting_(horizon + 1),
      bounds_(horizon * coverages_.size()),
      distances_(2 * horizon * coverages_.size()),
      sums_(5 * (horizon + 1)) {
  for (std::size_t k = 1; k <= horizon; ++k)
    leads_.push_back({ErrorSize(first_weight), ScoreWindow(pretended_scores(k)),
                      std::vector<double>(2 * coverages_.size())});
  for (Waiting& w : waiting_) w.bounds.resize(horizon * coverages_.size());
}

void ForecastBands::learn(double d) {
  ++samples_;
  if (!(std::abs(d) <= largest_magnitude)) return;
  for (const Waiting& w : waiting_) {
    if (samples_ <= w.after || samples_ - w.after > w.leads) continue;
    const std::size_t k = samples_ - w.after;
    learn_lead(leads_[k - 1], w, k, d);
  }
  targets_.add(d);
}

void ForecastBands::learn_lead(Lead& lead, const Waiting& from, std::size_t k, double d) {
  const Interval::Origin& origin = from.bounds[(k - 1) * coverages_.size()].origin;
  const double e = d - origin.d_hat;
  if (!(std::abs(e) <= 2 * largest_magnitude) || !(origin.scale >= 0)) return;
  const std::uint64_t learnt = lead.size.count();
  const double late = origin.learnt < learnt ? static_cast<double>(learnt - origin.learnt) : 0;
  lead.late = std::max(lead.late - alpha(coverages_.size() - 1), late);
  const double together = 1 + lead.late;
  for (std::size_t level = 0; level < coverages_.size(); ++level) {
    const Interval& bounds = from.bounds[(k - 1) * coverages_.size() + level];
    if (!(bounds.low <= bounds.high)) continue;
    const auto correct = [&](double& v, bool missed) {
      v = std::max(v + rate * ((missed ? 1 : 0) - alpha(level)), -(together + steadiness));
    };
    correct(lead.v[2 * level], d < bounds.low);
    correct(lead.v[2 * level + 1], d > bounds.high);
  }
  const double turns = static_cast<double>(learnt) * std::numbers::phi;
  const bool is_kept = (turns - std::floor(turns)) * (1 + lead.late / dense) <= 1;
  if (origin.scale > 0 && is_kept) lead.scores.add(e / origin.scale);
  lead.size.learn(origin, e, together);
}

std::span<const Interval> ForecastBands::around(std::span<const double> d_hat, std::size_t passed) {
  const std::size_t levels = coverages_.size();
  const std::size_t leads = std::min(d_hat.size(), leads_.size());
  Waiting& w = waiting_[(samples_ + passed) % waiting_.size()];
  w.after = samples_ + passed;
  w.leads = leads;
  for (std::size_t k = 0; k < leads; ++k) {
    std::fill_n(&w.bounds[k * levels], levels, Interval());
    Interval::Origin& origin = w.bounds[k * levels].origin;
    origin.d_hat = d_hat[k];
    origin.learnt = leads_[k].size.count();
    leads_[k].size.expect(Interval::unknown, origin);
    for (std::size_t level = 0; level < levels; ++level) {
      const ScoreWindow& scores = leads_[k].scores;
      distances_[2 * level * leads + k] = -origin.scale * scores.below(alpha(level));
      distances_[(2 * level + 1) * leads + k] = origin.scale * scores.above(alpha(level));
    }
  }
  for (std::size_t side = 0; side < 2 * levels; ++side)
    smooth(std::span(distances_).subspan(side * leads, leads));
  for (std::size_t k = 0; k < leads; ++k) {
    const Lead& lead = leads_[k];
    for (std::size_t level = 0; level < levels; ++level) {
      Interval& bounds = w.bounds[k * levels + level];
      if (lead.size.count() < first_bounds || !(std::abs(d_hat[k]) <= largest_magnitude)) continue;
      const auto distance = [&](std::size_t side) {
        const double u = lead.v[2 * level + side] / (1 + lead.late + steadiness);
        return std::max(distances_[(2 * level + side) * leads + k], 0.0) +
               w.bounds[k * levels].origin.scale * std::sinh(firmness * u) / firmness;
      };
      bounds.low = d_hat[k] - distance(0);
      bounds.high = d_hat[k] + distance(1);
      if (bounds.low > bounds.high)
        bounds.low = bounds.high = std::midpoint(bounds.low, bounds.high);
      if (level > 0) bounds.contain(w.bounds[k * levels + level - 1]);
      targets_.hold(bounds);
    }
  }
  std::copy_n(w.bounds.begin(), leads * levels, bounds_.begin());
  return std::span(bounds_).first(leads * levels);
}

// Locally linear over the leads k ± k/5; a lead counts as much as it knows errors.
void ForecastBands::smooth(std::span<double> a) const {
  const std::size_t n = a.size();
  // Sums over leads before the i-th of w, wx, wx², wa, wxa.
  const auto sum = [&](std::size_t which, std::size_t i) -> double& {
    return sums_[which * (leads_.size() + 1) + i];
  };
  for (std::size_t which = 0; which < 5; ++which) sum(which, 0) = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(i + 1);
    const std::uint64_t known = leads_[i].size.count();
    const double w = known < first_bounds ? 0 : std::min(static_cast<double>(known), 1000.0) / x;
    const double of[] = {w, w * x, w * x * x, w * a[i], w * x * a[i]};
    for (std::size_t which = 0; which < 5; ++which) sum(which, i + 1) = sum(which, i) + of[which];
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto h = static_cast<std::size_t>(neighbours * static_cast<double>(i + 1));
    if (h == 0) continue;
    const std::size_t from = i - h;
    const std::size_t to = std::min(i + h + 1, n);
    const auto x = static_cast<double>(i + 1);
    const auto total = [&](std::size_t which) { return sum(which, to) - sum(which, from); };
    const double w = total(0);
    if (!(w > 0)) continue;
    const double mean_x = total(1) / w;
    const double mean_a = total(3) / w;
    const double var_x = total(2) / w - mean_x * mean_x;
    const double cov = total(4) / w - mean_x * mean_a;
    a[i] = mean_a + (var_x > 1e-9 * x * x ? cov / var_x * (x - mean_x) : 0);
  }
}

// While u ≥ u* = asinh(κb)/κ, A + σ sinh(κu)/κ ≥ bσ, and no bound is missed. A miss belongs to
// bounds made at u < u*, and at most D others have been learnt since, so that −g ≤ v ≤ g·u* + η(D +
// 1) with g = D + 1 + ν; and v never falls by more than the targets that were held.
double ForecastBands::excess(double b, std::uint64_t late) {
  const double others = static_cast<double>(late);
  const double g = others + 1 + steadiness;
  return 2 * (g * (std::asinh(firmness * b) / firmness + 1) / rate + others + 1);
}

void ForecastBands::reset() {
  samples_ = 0;
  targets_.reset();
  for (Lead& lead : leads_) {
    lead.size.reset();
    lead.scores.reset();
    std::fill(lead.v.begin(), lead.v.end(), 0.0);
    lead.late = 0;
  }
  for (Waiting& w : waiting_) w.after = w.leads = 0;
}

void ForecastBands::exchange(Archive& archive) {
  archive.count(samples_);
  targets_.exchange(archive);
  for (Lead& lead : leads_) {
    lead.size.exchange(archive);
    lead.scores.exchange(archive);
    archive.numbers(lead.v);
    archive.number(lead.late, Archive::not_negative);
  }
  for (Waiting& w : waiting_) {
    archive.count(w.after);
    archive.count(w.leads, leads_.size());
    for (Interval& b : std::span(w.bounds).first(w.leads * coverages_.size())) b.exchange(archive);
  }
}

}  // namespace kalstream
