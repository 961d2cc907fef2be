#include "kalstream/forecaster.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "forecast/bands.h"
#include "forecast/lead_blends.h"

namespace kalstream {

struct Forecaster::State {
  State(const Learner& learner, std::size_t most_leads, double coverage,
        std::span<const double> inner)
      : n_in(learner.inputs()),
        n_d(learner.outputs()),
        horizon(most_leads),
        values(most_leads * n_d),
        of_output(coverage > 0 ? most_leads : 0) {
    if (!learner.opinions().empty()) blends.emplace(learner, horizon);
    if (coverage == 0) return;
    std::vector<double> coverages(inner.begin(), inner.end());
    coverages.push_back(coverage);
    levels = coverages.size();
    bands.assign(n_d, ForecastBands(horizon, std::move(coverages)));
    bounds.resize(values.size());
    inner_bounds.resize(values.size() * (levels - 1));
  }

  std::size_t n_in;
  std::size_t n_d;
  std::size_t horizon;
  std::optional<LeadBlends> blends;  // none: the learner's own forecasts
  std::vector<ForecastBands> bands;  // of each output; none without coverage
  std::size_t leads = 0;             // of the last forecast
  std::vector<double> values;
  std::vector<double> of_output;  // the values of one
  std::size_t levels = 0;         // coverages
  std::vector<Interval> inner_bounds;
  std::vector<Interval> bounds;
};

Forecaster::Forecaster(const Learner& learner, std::size_t horizon, double coverage,
                       std::span<const double> inner) {
  if (horizon == 0 || horizon > longest_horizon)
    throw std::invalid_argument("horizon: must be 1 to 1000");
  if (!(coverage >= 0 && coverage < 1))
    throw std::invalid_argument("coverage: must be at least 0 and less than 1");
  double least = 0;
  for (const double narrower : inner) {
    if (!(narrower > least && narrower < coverage))
      throw std::invalid_argument("inner coverages: must ascend, and be less than the coverage");
    least = narrower;
  }
  state_ = std::make_unique<State>(learner, horizon, coverage, inner);
}

Forecaster::Forecaster(const Forecaster& other) : state_(std::make_unique<State>(*other.state_)) {}
Forecaster::Forecaster(Forecaster&&) noexcept = default;
Forecaster& Forecaster::operator=(Forecaster other) noexcept {
  state_.swap(other.state_);
  return *this;
}
Forecaster::~Forecaster() = default;

std::size_t Forecaster::horizon() const { return state_->horizon; }
std::size_t Forecaster::outputs() const { return state_->n_d; }

void Forecaster::learn(const Learner& learner, std::span<const double> d) {
  const FlushDenormals guard;
  State& s = *state_;
  const bool known = d.size() == s.n_d && all_finite(d);
  for (std::size_t k = 0; k < s.bands.size(); ++k)
    s.bands[k].learn(known ? d[k] : Interval::unknown);
  if (s.blends) s.blends->learn(learner, known ? d : std::span<const double>());
}

std::size_t Forecaster::forecast(Learner& learner, std::span<const double> inputs,
                                 std::size_t passed) {
  const FlushDenormals guard;
  State& s = *state_;
  const std::size_t most = passed + s.horizon;
  const std::size_t rows = s.n_in == 0 ? most : std::min(most, inputs.size() / s.n_in);
  s.leads = 0;
  learner.start_forecast();
  if (s.blends) s.blends->start();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto x = inputs.subspan(row * s.n_in, s.n_in);
    const auto said = learner.forecast_next(x);
    if (!all_finite(said) || !all_usable(x)) break;
    const auto d_hat = std::span(s.values).subspan(s.leads * s.n_d, s.n_d);
    std::ranges::copy(said, d_hat.begin());
    if (s.blends) s.blends->improve(learner, row + 1, x, d_hat);
    if (row >= passed) ++s.leads;
  }
  for (std::size_t k = 0; k < s.bands.size(); ++k) {
    for (std::size_t lead = 0; lead < s.leads; ++lead)
      s.of_output[lead] = s.values[lead * s.n_d + k];
    const auto bounds = s.bands[k].around(std::span(s.of_output).first(s.leads), passed);
    for (std::size_t lead = 0; lead < s.leads; ++lead) {
      const auto of_lead = bounds.subspan(lead * s.levels, s.levels);
      s.bounds[lead * s.n_d + k] = of_lead.back();
      for (std::size_t level = 0; level + 1 < s.levels; ++level)
        s.inner_bounds[(lead * (s.levels - 1) + level) * s.n_d + k] = of_lead[level];
    }
  }
  return s.leads;
}

std::span<const double> Forecaster::values() const {
  return std::span(state_->values).first(state_->leads * state_->n_d);
}

std::span<const Interval> Forecaster::bounds() const {
  const bool some = !state_->bounds.empty();
  return std::span(state_->bounds).first(some ? state_->leads * state_->n_d : 0);
}

std::span<const Interval> Forecaster::inner_bounds() const {
  const State& s = *state_;
  const std::size_t narrower = s.levels > 0 ? s.levels - 1 : 0;
  return std::span(s.inner_bounds).first(s.leads * s.n_d * narrower);
}

void Forecaster::reset() {
  State& s = *state_;
  s.leads = 0;
  if (s.blends) s.blends->reset();
  for (ForecastBands& b : s.bands) b.reset();
}

// What the last forecast said is not part of it: it is made anew.
void Forecaster::exchange(Archive& archive) {
  State& s = *state_;
  for (ForecastBands& b : s.bands) b.exchange(archive);
  if (s.blends) s.blends->exchange(archive);
  s.leads = 0;
}

}  // namespace kalstream
