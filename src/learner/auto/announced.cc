#include "learner/auto/announced.h"

#include <algorithm>
#include <cmath>

#include "core/archive.h"
#include "learner/baselines.h"

namespace kalstream {
namespace {

constexpr double unusual = 4;          // deviations of an input
constexpr double largest_event = 100;  // in units of the first

std::unique_ptr<Learner> make_model(std::size_t inputs, std::size_t outputs) {
  if (inputs == 0) return nullptr;
  return make_learner(
      {.network = linear_network(inputs, outputs),
       .rule = Ekf{.initial_covariance = 100, .measurement_noise = 0.1, .process_noise = 1e-4}});
}

}  // namespace

Announced::Announced(std::size_t inputs, std::size_t outputs)
    : model_(make_model(inputs, outputs)), target_(outputs) {}

Announced::Announced(const Announced& other)
    : model_(other.model_ ? other.model_->clone() : nullptr),
      unit_(other.unit_),
      loss_with_(other.loss_with_),
      loss_without_(other.loss_without_),
      target_(other.target_) {}

bool Announced::is_unusual(std::span<const double> x, const Scale& scale) {
  const RunningMoments& seen = scale.inputs().running();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double off = std::abs(x[k] - seen.mean(k));
    if (off > 0 && (seen.is_constant(k) || off > unusual * seen.deviation(k))) return true;
  }
  return false;
}

void Announced::add_to(std::span<double> d_hat, std::span<const double> x_seen, bool is_unusual) {
  if (!is_unusual || !has_a_say()) return;
  const auto on_top = model_->predict(x_seen);
  for (std::size_t k = 0; k < d_hat.size(); ++k) d_hat[k] += unit_ * on_top[k];
}

void Announced::learn(std::span<const double> x_seen, std::span<const double> d_hat,
                      std::span<const double> d, bool is_event) {
  if (model_ == nullptr || (unit_ == 0 && !is_event)) return;
  double size = 0;
  for (std::size_t k = 0; k < d.size(); ++k) size = std::max(size, std::abs(d[k] - d_hat[k]));
  if (unit_ == 0) {
    if (!(size > 0) || !std::isfinite(size)) return;
    unit_ = size;
    loss_without_ = 1;  // for the benefit of the doubt
  } else {
    const auto on_top = model_->predict(x_seen);
    for (std::size_t k = 0; k < d.size(); ++k) {
      const double e = std::clamp((d[k] - d_hat[k]) / unit_, -largest_event, largest_event);
      loss_without_ += e * e;
      loss_with_ += (e - on_top[k]) * (e - on_top[k]);
    }
  }
  for (std::size_t k = 0; k < d.size(); ++k)
    target_[k] = std::clamp((d[k] - d_hat[k]) / unit_, -largest_event, largest_event);
  model_->learn(x_seen, target_);
}

void Announced::reset() {
  if (model_ != nullptr) model_->reset();
  unit_ = loss_with_ = loss_without_ = 0;
}

void Announced::exchange(Archive& archive) {
  for (double* v : {&unit_, &loss_with_, &loss_without_}) archive.number(*v, Archive::not_negative);
  if (model_ != nullptr) model_->exchange(archive);
}

}  // namespace kalstream
