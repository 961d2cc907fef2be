#include "engine/running_score.h"

#include <cmath>

namespace kalstream {

// With w ← keep·w + 1 and g = 1/w, for every mean m of a quantity v, and for the spread s of d:
//
//     m ← m + g (v − m),   s ← (1 − g)(s + g ‖d − mean d‖²), with the mean before
void RunningScore::Means::add(std::span<const double> d_hat, std::span<const double> d,
                              double keep) {
  weight = keep * weight + 1;
  const double g = 1 / weight;
  double squares = 0;
  double magnitudes = 0;
  double distance = 0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const double e = d[k] - d_hat[k];
    squares += e * e;
    magnitudes += std::abs(e);
    const double off = d[k] - target[k];
    distance += off * off;
    target[k] += g * off;
  }
  squared_error += g * (squares - squared_error);
  absolute_error += g * (magnitudes - absolute_error);
  target_spread = (1 - g) * (target_spread + g * distance);
}

Errors RunningScore::Means::errors() const {
  if (!(weight > 0)) return {};
  const auto n = static_cast<double>(target.size());
  Errors errors{.rmse = std::sqrt(squared_error / n), .mae = absolute_error / n};
  if (target_spread > 0) errors.nse = squared_error / target_spread;
  return errors;
}

void RunningScore::Means::exchange(Archive& archive) {
  archive.number(weight, Archive::not_negative);
  archive.number(squared_error, Archive::not_negative);
  archive.number(absolute_error, Archive::not_negative);
  archive.numbers(target);
  archive.number(target_spread, Archive::not_negative);
}

bool RunningScore::add(std::span<const double> d_hat, std::span<const double> d) {
  const std::size_t n = all_.target.size();
  if (d.size() != n || d_hat.size() != n || !all_usable(d) || !all_usable(d_hat)) return false;
  ++count_;
  all_.add(d_hat, d, 1);
  recent_.add(d_hat, d, keep_);
  return true;
}

void RunningScore::exchange(Archive& archive) {
  archive.count(count_);
  all_.exchange(archive);
  recent_.exchange(archive);
}

}  // namespace kalstream
