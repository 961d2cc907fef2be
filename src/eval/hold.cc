#include "eval/hold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/finite.h"

namespace kalstream {

std::vector<std::size_t> hold_last_inputs(Dataset& data) {
  const std::size_t n_x = data.n_inputs();
  std::vector<double> last(n_x, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::size_t> held(data.rows(), 0);
  for (std::size_t t = 0; t < data.rows(); ++t) {
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
