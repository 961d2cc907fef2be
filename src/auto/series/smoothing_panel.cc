#include "auto/series/smoothing_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numbers>

#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {
namespace {

/// One point of the grid.
struct Combination {
  double alpha;
  double beta;
  double gamma;
  double phi;
  double trend;   // prior variance of b, in variances of ε; 0: there is none
  double season;  // of each s, likewise
  double log_prior;

  bool has_season() const { return season > 0; }
};

// Four to six α, two or three γ and a third or three times these variances make a difference of 2 %
// in the errors on seventy short series; the widest variances are for series with hardly any noise.
std::vector<Combination> make_grid() {
  struct Trend {
    double phi, beta, variance;  // β is a share of α
  };
  struct Season {
    double gamma, variance;  // γ is a share of 1 − α
  };
  constexpr double alphas[] = {0.05, 0.25, 0.6, 1};
  constexpr Trend trends[] = {{0, 0, 0}, {1, 0, 0.3}, {1, 0, 30}, {0.95, 0.2, 0.3}};
  constexpr Season seasons[] = {{0, 0},   {0, 3},    {0, 30},    {0, 1000},
                                {0.2, 3}, {0.2, 30}, {0.2, 1000}};
  std::vector<Combination> grid;
  for (const double alpha : alphas)
    for (const Trend& trend : trends)
      for (const Season& season : seasons) {
        if (alpha == 1 && season.gamma > 0) continue;  // γ = 0 once more
        // With and without trend, and with and without season, are equally likely beforehand.
        const double of_trend = trend.variance > 0 ? 1.0 / (std::size(trends) - 1) : 1;
        const double of_season = season.variance > 0 ? 1.0 / (std::size(seasons) - 1) : 1;
        grid.push_back({alpha, trend.beta * alpha, season.gamma * (1 - alpha), trend.phi,
                        trend.variance, season.variance, std::log(of_trend * of_season)});
      }
  return grid;
}

const std::vector<Combination>& grid() {
  static const std::vector<Combination> all = make_grid();
  return all;
}

constexpr double silence = std::numeric_limits<double>::quiet_NaN();
constexpr double level_variance = 1e4;    // of l at the start, in variances of ε: as good as any
constexpr double least_log_weight = -12;  // of a combination that goes on
constexpr double least_weight = 1e-4;     // of one that counts in a forecast
constexpr double rounding = 1e-12;        // of ε, in units of the target
constexpr double least_square = 1e-40;  // Σ v²/S: no target is so large that v² over it overflows
constexpr double least_unit = 0x1p-100;          // likewise
constexpr std::uint64_t first_logarithm = 8;     // values above zero that make one
constexpr double most_growth = 2;                // of a logarithm beyond the highest so far
constexpr std::size_t work_of_a_step = 300'000;  // numbers of covariances: some 0.2 ms

}  // namespace

std::size_t SmoothingPanel::size_of(const Filter& f) const {
  return grid()[f.combination].has_season() ? 2 + period_ : 2;
}

void SmoothingPanel::set_period(std::size_t period) {
  period_ = period >= 2 && period <= longest_period ? period : 0;
  reset();
}

void SmoothingPanel::reset() {
  learnt_ = values_ = 0;
  highest_ = unit_ = 0;
  filters_ = {};
  is_behind_ = true;
}

void SmoothingPanel::make_filters() try {
  for (std::size_t c = 0; c < grid().size(); ++c) {
    const Combination& combination = grid()[c];
    if (combination.has_season() && period_ == 0) continue;
    Filter f{.combination = c};
    const std::size_t n = size_of(f);
    f.P.assign(n * n, 0.0);
    f.P[0] = level_variance;
    f.P[n + 1] = combination.trend;
    for (std::size_t i = 2; i < n; ++i) f.P[i * n + i] = combination.season;
    for (State& s : f.states) {
      s.a.assign(n, 0.0);
      s.log_likelihood = combination.log_prior;
    }
    filters_.push_back(std::move(f));
  }
  gain_.resize(2 + period_);
} catch (const std::bad_alloc&) {
  filters_ = {};
}

void SmoothingPanel::catch_up(const LongPast& past) {
  if (past.count() > most_samples) {
    filters_ = {};
    is_behind_ = true;
    return;
  }
  if (learnt_ == 0) {
    filters_.clear();
    make_filters();
  }
  std::size_t work = 0;
  for (const Filter& f : filters_) work += f.P.size();
  for (std::size_t done = 0; learnt_ < past.count() && done < work_of_a_step; done += work)
    learn(past[past.count() - learnt_]);
  is_behind_ = learnt_ < past.count();
  if (!is_behind_) weigh();
}

// The unit is a power of two: a stream in another such unit is the same to the bit.
void SmoothingPanel::learn(double y) {
  if (unit_ == 0 && y != 0)
    unit_ = std::max(std::exp2(std::floor(std::log2(std::abs(y)))), least_unit);
  if (unit_ > 0) y /= unit_;
  highest_ = learnt_ == 0 ? y : std::max(highest_, y);
  for (Filter& f : filters_) step(f, &y);
  ++learnt_;
  ++values_;
  drop_unlikely();
}

// Those of the target itself stay beside likelier ones of its logarithm: a value that has none may
// come.
void SmoothingPanel::drop_unlikely() {
  const double least[] = {best(plain) + least_log_weight,
                          std::max(best(plain), best(logarithm)) + least_log_weight};
  for (Filter& f : filters_)
    for (const Branch branch : {plain, logarithm})
      f.states[branch].is_alive &= f.states[branch].log_likelihood >= least[branch];
  std::erase_if(filters_, [](const Filter& f) { return !f.is_alive(); });
}

double SmoothingPanel::best(Branch branch) const {
  double best = -std::numeric_limits<double>::infinity();
  for (const Filter& f : filters_)
    if (const State& s = f.states[branch]; s.is_alive) best = std::max(best, s.log_likelihood);
  return best;
}

void SmoothingPanel::advance() {
  if (is_behind_) return;
  for (Filter& f : filters_) step(f, nullptr);
  ++learnt_;
  start_forecast();
}

// The letters are those of the header; n numbers of the state, i the season's, if there is one.
// Without y the state moves on, and K is 0.
void SmoothingPanel::step(Filter& f, const double* y) {
  const auto& axpy = kernels::active().axpy;
  const Combination& c = grid()[f.combination];
  const std::size_t n = size_of(f);
  const std::size_t i = n > 2 ? 2 + learnt_ % period_ : 0;
  const auto row = [&](std::size_t r) { return f.P.data() + r * n; };
  // FPw, and then FPw + g = KS
  double* const k = gain_.data();
  std::copy_n(row(0), n, k);
  axpy(n, c.phi, row(1), k);
  if (i > 0) axpy(n, 1, row(i), k);
  const double S = std::max(1 + k[0] + c.phi * k[1] + (i > 0 ? k[i] : 0), 1.0);
  k[0] += c.phi * k[1] + c.alpha;
  k[1] = c.phi * k[1] + c.beta;
  if (i > 0) k[i] += c.gamma;

  // FPFᵀ + ggᵀ − S KKᵀ
  axpy(n, c.phi, row(1), row(0));
  for (std::size_t j = 0; j < n; ++j) row(1)[j] *= c.phi;
  for (std::size_t r = 0; r < n; ++r) {
    row(r)[0] += c.phi * row(r)[1];
    row(r)[1] *= c.phi;
  }
  const std::size_t at[] = {0, 1, i};
  const double g[] = {c.alpha, c.beta, c.gamma};
  const std::size_t gains = i > 0 ? 3 : 2;
  for (std::size_t p = 0; p < gains; ++p)
    for (std::size_t q = 0; q < gains; ++q) row(at[p])[at[q]] += g[p] * g[q];
  for (std::size_t r = 0; y != nullptr && r < n; ++r) axpy(n, -k[r] / S, k, row(r));

  const auto nu = static_cast<double>(values_);
  for (const Branch branch : {plain, logarithm}) {
    State& s = f.states[branch];
    s.a[0] += c.phi * s.a[1];
    s.a[1] *= c.phi;
    if (y == nullptr) continue;
    s.is_alive &= branch == plain || *y > 0;
    if (!s.is_alive) continue;
    const double z = branch == plain ? *y : std::log(*y);
    if (values_ == 0) s.a[0] = z;
    const double v = z - s.a[0] - (i > 0 ? s.a[i] : 0);
    // Student's t, without what all have in common; the first two values tell of l and σ² alone
    if (values_ > 1) {
      s.log_likelihood -=
          0.5 * std::log(s.squares / nu * S) + (nu + 1) / 2 * std::log1p(v * v / (s.squares * S));
      if (branch == logarithm) s.log_likelihood -= z;  // density of y, not of log y
    }
    s.squares += v * v / S;
    const double least = branch == plain ? rounding * *y : rounding;
    s.squares = std::max({s.squares, least * least, least_square});
    axpy(n, v / S, k, s.a.data());
  }
}

void SmoothingPanel::weigh() {
  const bool has_logarithm = values_ >= first_logarithm;
  const double likeliest = has_logarithm ? std::max(best(plain), best(logarithm)) : best(plain);
  double sum = 0;
  for (Filter& f : filters_)
    for (const Branch branch : {plain, logarithm}) {
      State& s = f.states[branch];
      const bool counts = s.is_alive && (branch == plain || has_logarithm);
      s.weight = counts ? std::exp(s.log_likelihood - likeliest) : 0;
      if (s.weight < least_weight) s.weight = 0;
      sum += s.weight;
    }
  for (Filter& f : filters_)
    for (State& s : f.states) s.weight /= sum;
  start_forecast();
}

void SmoothingPanel::start_forecast() {
  lead_ = 0;
  for (Filter& f : filters_)
    for (State& s : f.states) {
      s.level = s.a[0];
      s.trend = s.a[1];
    }
}

double SmoothingPanel::forecast(std::uint64_t lead) {
  if (is_behind_ || learnt_ == 0 || filters_.empty()) return silence;
  const double highest = highest_ > 0 ? std::log(highest_) + most_growth : 0;
  double sum = 0;
  for (Filter& f : filters_) {
    const Combination& c = grid()[f.combination];
    const std::size_t i = c.has_season() ? 2 + (learnt_ + lead) % period_ : 0;
    for (const Branch branch : {plain, logarithm}) {
      const State& s = f.states[branch];
      if (!(s.weight > 0)) continue;
      const double level = lead == 0 ? s.a[0] : s.level;
      const double trend = lead == 0 ? s.a[1] : s.trend;
      const double z = level + c.phi * trend + (i > 0 ? s.a[i] : 0);
      sum += s.weight * (branch == plain ? z : std::exp(std::min(z, highest)));
    }
  }
  return unit_ > 0 ? unit_ * sum : sum;
}

double SmoothingPanel::forecast_next() {
  const double y = forecast(lead_);
  for (Filter& f : filters_)
    for (State& s : f.states) {
      const double phi = grid()[f.combination].phi;
      s.level += phi * s.trend;
      s.trend *= phi;
    }
  ++lead_;
  return y;
}

void SmoothingPanel::exchange(Archive& archive) {
  archive.count(period_, longest_period);
  archive.count(learnt_);
  archive.count(values_, learnt_);
  archive.number(highest_);
  archive.number(unit_, Archive::not_negative);
  archive.flag(is_behind_);
  const std::size_t there = archive.length(filters_.size());
  archive.require(there <= grid().size());
  if (archive.reading()) {
    filters_.assign(there, {});
    gain_.resize(2 + period_);
  }
  for (Filter& f : filters_) {
    archive.count(f.combination, grid().size() - 1);
    archive.require(period_ > 0 || !grid()[f.combination].has_season());
    const std::size_t n = size_of(f);
    f.P.resize(n * n);
    archive.run(f.P);
    for (State& s : f.states) {
      archive.flag(s.is_alive);
      archive.number(s.log_likelihood);
      archive.number(s.squares, Archive::not_negative);
      s.a.resize(n);
      archive.run(s.a);
    }
  }
  if (archive.reading() && !is_behind_) weigh();
}

}  // namespace kalstream
