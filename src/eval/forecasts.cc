#include "eval/forecasts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/finite.h"

namespace kalstream {
namespace {

constexpr double no_forecast = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ForecastKeeper::ForecastKeeper(const Learner& learner, const Dataset& data,
                               const Timeline& timeline, std::size_t rows,
                               const ForecastOptions& options)
    : data_(data),
      timeline_(timeline),
      options_(options),
      forecaster_(learner, options.horizon, options.coverage),
      inputs_(options.horizon * data.n_inputs()) {
  options_.known_ahead.resize(data.n_inputs(), false);
  kept_.horizon = options.horizon;
  if (!options_.keep) return;
  kept_.value.assign(rows * options.horizon * data.n_targets(), no_forecast);
  if (options_.coverage > 0) kept_.low = kept_.high = kept_.value;
}

// Inputs of the steps after row t. As many as what is known ahead reaches to; all, where nothing
// needs to be known.
std::size_t ForecastKeeper::fill_inputs(std::size_t t) {
  const std::size_t n_x = data_.n_inputs();
  const auto& known = options_.known_ahead;
  const bool looks_ahead = std::find(known.begin(), known.end(), true) != known.end();
  const auto now = data_.x(t);
  for (std::size_t lead = 1; lead <= options_.horizon && n_x > 0; ++lead) {
    const auto x = std::span(inputs_).subspan((lead - 1) * n_x, n_x);
    std::ranges::copy(now, x.begin());
    if (!timeline_.usual_elapsed.empty()) x.back() = timeline_.usual_elapsed[t];
    if (!looks_ahead) continue;
    const std::size_t place = timeline_.place[t] + lead;
    if (place >= timeline_.row_at.size()) {
      if (options_.hold_unknown) continue;
      return lead - 1;
    }
    const std::size_t row = timeline_.row_at[place];
    for (std::size_t k = 0; k < n_x && row != Timeline::none; ++k)
      if (known[k] && !std::isnan(data_.x(row)[k])) x[k] = data_.x(row)[k];
  }
  return options_.horizon;
}

void ForecastKeeper::add(Learner& learner, std::size_t t, bool learnt) {
  forecaster_.learn(learner, learnt ? data_.d(t) : std::span<const double>{});
  const std::size_t leads = fill_inputs(t);
  leads_ = leads == 0
               ? 0
               : forecaster_.forecast(learner, std::span(inputs_).first(leads * data_.n_inputs()));
  if (options_.keep) keep(t);
}

void ForecastKeeper::keep(std::size_t t) {
  const std::size_t n_d = data_.n_targets();
  const std::size_t first = t * options_.horizon * n_d;
  for (std::size_t k = 0; k < leads_ * n_d; ++k) {
    kept_.value[first + k] = forecaster_.values()[k];
    if (options_.coverage == 0) continue;
    kept_.low[first + k] = forecaster_.bounds()[k].low;
    kept_.high[first + k] = forecaster_.bounds()[k].high;
  }
}

double ForecastKeeper::farthest_error(std::size_t t) const {
  const std::size_t place = timeline_.place[t] + options_.horizon;
  if (leads_ < options_.horizon || place >= timeline_.row_at.size()) return no_forecast;
  const std::size_t row = timeline_.row_at[place];
  if (row == Timeline::none || !all_finite(data_.d(row))) return no_forecast;
  const auto said = forecaster_.values().last(data_.n_targets());
  double sum = 0;
  for (std::size_t k = 0; k < said.size(); ++k)
    sum += (data_.d(row)[k] - said[k]) * (data_.d(row)[k] - said[k]);
  return sum;
}

KeptForecasts ForecastKeeper::take(std::size_t rows) {
  const std::size_t size = rows * options_.horizon * data_.n_targets();
  if (!kept_.value.empty()) kept_.value.resize(size);
  if (!kept_.low.empty()) {
    kept_.low.resize(size);
    kept_.high.resize(size);
  }
  return options_.keep ? std::exchange(kept_, {}) : KeptForecasts{};
}

}  // namespace kalstream
