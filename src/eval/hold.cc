#include "eval/hold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "core/finite.h"
#include "eval/timeline.h"

namespace kalstream {

void use_rows_ahead(Dataset& data, const std::vector<bool>& known_ahead) {
  if (known_ahead.empty()) return;
  const auto ticks = ticks_of(data);
  const std::size_t n_x = data.n_inputs();
  std::map<std::int64_t, std::size_t> ahead;  // rows without a target, by their time
  for (std::size_t t = 0; t < ticks.size(); ++t) {
    if (!ticks[t]) continue;
    if (!all_finite(data.d(t))) {
      ahead[*ticks[t]] = t;
      continue;
    }
    const auto same = ahead.find(*ticks[t]);
    for (std::size_t k = 0; k < n_x && same != ahead.end(); ++k)
      if (double& v = data.inputs[t * n_x + k]; known_ahead[k] && std::isnan(v))
        v = data.x(same->second)[k];
  }
}

std::vector<std::size_t> hold_last_inputs(Dataset& data, const std::vector<bool>& known_ahead) {
  use_rows_ahead(data, known_ahead);
  const auto kinds =
      known_ahead.empty() ? std::vector<Timeline::Row>{} : timeline_of(data, known_ahead).kind;
  const std::size_t n_x = data.n_inputs();
  std::vector<double> last(n_x, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::size_t> held(data.rows(), 0);
  for (std::size_t t = 0; t < data.rows(); ++t) {
    if (!kinds.empty() && kinds[t] == Timeline::Row::ahead) continue;
    const auto x = std::span(data.inputs).subspan(t * n_x, n_x);
    const auto missing = std::ranges::count_if(x, [](double v) { return std::isnan(v); });
    for (std::size_t k = 0; k < n_x; ++k) {
      if (!std::isnan(x[k])) last[k] = x[k];
      x[k] = last[k];
    }
    if (all_finite(x)) held[t] = static_cast<std::size_t>(missing);
  }
  return held;
}

}  // namespace kalstream
