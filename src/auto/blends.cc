#include "auto/blends.h"

#include <algorithm>
#include <cmath>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr double least_variance = 1e-200;

}  // namespace

Blends::Blends(std::size_t experts, std::size_t outputs, const Favourite& favourite)
    : blends_(outputs, Blend(experts, {}, favourite)),
      q_(experts),
      spread_(outputs),
      weights_(experts) {
  gather_weights();
}

void Blends::predict(std::span<const double> said, std::span<double> d_hat) {
  for (std::size_t k = 0; k < d_hat.size(); ++k) {
    for (std::size_t j = 0; j < q_.size(); ++j) q_[j] = said[j * d_hat.size() + k];
    d_hat[k] = blends_[k].predict(q_);
  }
}

void Blends::learn(std::span<const double> d) {
  for (std::size_t k = 0; k < d.size(); ++k) blends_[k].learn(d[k]);
  gather_weights();
}

void Blends::widen(const TargetRange& range) {
  for (std::size_t k = 0; k < blends_.size(); ++k) blends_[k].widen(range.low(k), range.high(k));
  gather_weights();
}

// The law of total variance over the experts of a blend, with weights w and squared error s²:
//   Σ w_j((q_j − d̂)² + s²(H_jP_jH_jᵀ + r_j)/r_j),
// where r_j, a setting, stands for s².
std::span<const double> Blends::spread(std::span<const double> d_hat,
                                       std::span<const double> relative_variance) {
  for (std::size_t k = 0; k < d_hat.size(); ++k) {
    const Blend& blend = blends_[k];
    double variance = 0;
    for (std::size_t j = 0; j < q_.size(); ++j) {
      const double beyond = blend.q()[j] - d_hat[k];
      variance +=
          blend.average_weights()[j] *
          (beyond * beyond + blend.squared_error() * relative_variance[j * d_hat.size() + k]);
    }
    spread_[k] = std::sqrt(std::clamp(variance, least_variance, 1 / least_variance));
  }
  return spread_;
}

void Blends::gather_weights() {
  std::fill(weights_.begin(), weights_.end(), 0.0);
  for (const Blend& blend : blends_)
    for (std::size_t j = 0; j < weights_.size(); ++j)
      weights_[j] += blend.weights()[j] / static_cast<double>(blends_.size());
}

void Blends::without_each(std::span<double> moved) {
  std::ranges::fill(moved, 0.0);
  for (const Blend& blend : blends_) {
    blend.without_each(q_);
    if (!(blend.squared_error() > 0)) continue;
    for (std::size_t j = 0; j < moved.size(); ++j)
      moved[j] += q_[j] * q_[j] / blend.squared_error();
  }
}

void Blends::reset() {
  for (Blend& blend : blends_) blend.reset();
  gather_weights();
}

void Blends::exchange(Archive& archive) {
  for (Blend& blend : blends_) blend.exchange(archive);
  if (archive.reading()) gather_weights();
}

}  // namespace kalstream
