#include "kalstream/learner.h"

#include <algorithm>

#include "core/finite.h"

namespace kalstream {
namespace {

/// numbers = rows × columns, whatever their size: a product of two could overflow.
bool are_rows(std::size_t numbers, std::size_t rows, std::size_t columns) {
  if (columns == 0) return numbers == 0;
  return numbers % columns == 0 && numbers / columns == rows;
}

}  // namespace

bool Learner::can_use(std::span<const double> x) const {
  return x.size() == inputs() && all_usable(x);
}

bool Learner::forecast(std::size_t horizon, std::span<const double> future_inputs,
                       std::span<double> d_hat) {
  if (!are_rows(future_inputs.size(), horizon, inputs()) ||
      !are_rows(d_hat.size(), horizon, outputs()))
    return false;
  for (std::size_t k = 0; k < horizon; ++k)
    if (!can_use(future_inputs.subspan(k * inputs(), inputs()))) return false;
  start_forecast();
  for (std::size_t k = 0; k < horizon; ++k) {
    const auto next = forecast_next(future_inputs.subspan(k * inputs(), inputs()));
    std::copy(next.begin(), next.end(), d_hat.begin() + k * outputs());
  }
  return true;
}

}  // namespace kalstream
