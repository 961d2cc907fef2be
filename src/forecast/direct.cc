#include "forecast/direct.h"

#include <algorithm>

#include "learner/parts.h"

namespace kalstream {
namespace {

constexpr std::size_t changes_seen = 8;
constexpr std::size_t seen_per_period = 3;
constexpr std::size_t seen_of_past =
    changes_seen + 1 + Periods::most * (seen_per_period + 2 * SeriesFeatures::waves);
constexpr double widest_seen = 10;  // deviations
constexpr double widest_learnt = 20;

}  // namespace

DirectModel::DirectModel(std::size_t lead, std::size_t inputs)
    : lead_(lead),
      model_(make_learner(
          {.network = linear_network(seen_of_past + inputs, 1),
           .rule = Ekf{.initial_covariance = 100, .measurement_noise = 1, .process_noise = 1e-5}})),
      seen_(seen_of_past + inputs) {}

// As it was `ago` steps before the last value.
void DirectModel::see(const LongPast& past, std::size_t ago, const Periods& periods,
                      const SeriesUnits& units, std::span<const double> x) {
  const auto knows = [&](std::size_t lag) { return past.reaches(lag + ago); };
  const auto y = [&](std::size_t lag) { return past[lag + ago]; };
  const double last = y(1);
  const auto unit = [&](double v) {
    return std::clamp(v / units.deviation, -widest_seen, widest_seen);
  };
  std::fill(seen_.begin(), seen_.end(), 0.0);
  for (std::size_t i = 1; i <= changes_seen && knows(i + 1); ++i)
    seen_[i - 1] = unit(y(i) - y(i + 1));
  seen_[changes_seen] = unit(last - units.mean);
  auto at = std::span(seen_).subspan(changes_seen + 1);
  for (std::size_t i = 0; i < Periods::most; ++i) {
    const std::size_t m = periods.lag(i);
    if (m >= 2) {
      const std::size_t back = (lead_ + m - 1) / m * m;
      const std::size_t same = back - lead_ + 1;  // the lag of the same phase, from 1 on
      if (knows(same)) at[0] = unit(y(same) - last);
      if (knows(1 + back)) at[1] = unit(y(1 + back) - last);
      if (knows(same + 1))
        at[2] = unit((y(same + 1) + y(same > 1 ? same - 1 : same + 1)) / 2 - last);
      see_phase(past.count() - ago + lead_ - 1, periods.length[i], at.subspan(seen_per_period));
    }
    at = at.subspan(seen_per_period + 2 * SeriesFeatures::waves);
  }
  std::copy(x.begin(), x.end(), at.begin());
}

double DirectModel::predict(const LongPast& past, const Periods& periods, const SeriesUnits& units,
                            std::span<const double> x) {
  see(past, 0, periods, units, x);
  return past[1] + units.deviation * model_->predict(seen_)[0];
}

void DirectModel::learn(const LongPast& past, const Periods& periods, const SeriesUnits& units,
                        std::span<const double> x) {
  if (!past.reaches(lead_ + 1)) return;
  see(past, lead_, periods, units, x);
  const double target =
      std::clamp((past[1] - past[lead_ + 1]) / units.deviation, -widest_learnt, widest_learnt);
  model_->learn(seen_, {&target, 1});
}

}  // namespace kalstream
