#include "eval/forecasts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/finite.h"

namespace kalstream {

ForecastKeeper::ForecastKeeper(std::size_t rows, std::size_t horizon, std::size_t outputs,
                               double coverage)
    : n_d_(outputs) {
  kept_.horizon = horizon;
  kept_.value.assign(rows * horizon * outputs, std::numeric_limits<double>::quiet_NaN());
  if (coverage == 0) return;
  kept_.low = kept_.high = kept_.value;
  of_lead_.assign(horizon, Intervals(outputs, coverage));
}

void ForecastKeeper::add(Learner& learner, const Dataset& data, std::size_t t) {
  learn(t, data.d(t));
  // A series without inputs can be forecast beyond its end; others as far as there are inputs.
  const std::size_t leads =
      data.n_inputs() == 0 ? kept_.horizon : std::min(kept_.horizon, data.rows() - 1 - t);
  if (leads == 0) return;
  Waiting made{.made_after = t, .bounds = {}};
  learner.start_forecast();
  for (std::size_t lead = 1; lead <= leads; ++lead) {
    const auto x = data.n_inputs() == 0 ? std::span<const double>{} : data.x(t + lead);
    if (!all_finite(x)) break;
    const auto d_hat = learner.forecast_next(x);
    if (!all_finite(d_hat)) break;
    const std::size_t place = (t * kept_.horizon + lead - 1) * n_d_;
    std::ranges::copy(d_hat, kept_.value.begin() + place);
    if (of_lead_.empty()) continue;
    for (const Interval& bounds : of_lead_[lead - 1].around(d_hat)) {
      kept_.low[place + made.bounds.size() % n_d_] = bounds.low;
      kept_.high[place + made.bounds.size() % n_d_] = bounds.high;
      made.bounds.push_back(bounds);
    }
  }
  if (!made.bounds.empty()) waiting_.push_back(std::move(made));
}

// What earlier rows had forecast of row t.
void ForecastKeeper::learn(std::size_t t, std::span<const double> d) {
  while (!waiting_.empty() && waiting_.front().made_after + kept_.horizon < t) waiting_.pop_front();
  for (const Waiting& w : waiting_) {
    const std::size_t first = (t - w.made_after - 1) * n_d_;
    if (all_finite(d) && first < w.bounds.size())
      of_lead_[t - w.made_after - 1].learn(std::span(w.bounds).subspan(first, n_d_), d);
  }
}

KeptForecasts ForecastKeeper::take(std::size_t rows) {
  const std::size_t size = rows * kept_.horizon * n_d_;
  kept_.value.resize(size);
  if (!of_lead_.empty()) {
    kept_.low.resize(size);
    kept_.high.resize(size);
  }
  return std::exchange(kept_, {});
}

}  // namespace kalstream
