#include "auto/announced.h"

#include <algorithm>
#include <cmath>

#include "auto/constants.h"
#include "core/archive.h"
#include "learner/parts.h"

namespace kalstream {
namespace {

std::unique_ptr<Learner> make_model(std::size_t inputs, std::size_t outputs) {
  if (inputs == 0) return nullptr;
  return make_learner(
      {.network = linear_network(inputs, outputs),
       .rule = Ekf{.initial_covariance = 100, .measurement_noise = 0.1, .process_noise = 1e-4}});
}

}  // namespace

Announced::Announced(std::size_t inputs, std::size_t outputs)
    : model_(make_model(inputs, outputs)), seen_(inputs), target_(outputs) {}

// An input that stood still until now is as far off as it can be.
bool Announced::see(std::span<const double> x, const RunningMoments& inputs) {
  unusual_ = false;
  for (std::size_t k = 0; k < seen_.size(); ++k) {
    const double off = x[k] - inputs.mean(k);
    seen_[k] = inputs.is_constant(k)
                   ? RunningMoments::reach * static_cast<double>((off > 0) - (off < 0))
                   : inputs.standardised(k, x[k]);
    unusual_ = unusual_ || std::abs(seen_[k]) > constants::usual_reach;
  }
  return unusual_;
}

void Announced::add_to(std::span<double> d_hat) {
  if (!unusual_ || !has_a_say()) return;
  const auto on_top = model_->predict(seen_);
  for (std::size_t k = 0; k < d_hat.size(); ++k) d_hat[k] += unit_ * on_top[k];
}

void Announced::learn(std::span<const double> d_hat, std::span<const double> d, bool is_event) {
  if (!unusual_ || (unit_ == 0 && !is_event)) return;
  if (unit_ == 0) {
    for (std::size_t k = 0; k < d.size(); ++k) unit_ = std::max(unit_, std::abs(d[k] - d_hat[k]));
    loss_without_ = 1;  // for the benefit of the doubt
    if (unit_ == 0) return;
  }
  const auto on_top = model_->predict(seen_);
  for (std::size_t k = 0; k < d.size(); ++k) {
    target_[k] =
        std::clamp((d[k] - d_hat[k]) / unit_, -constants::absurd_target, constants::absurd_target);
    loss_without_ += target_[k] * target_[k];
    loss_with_ += (target_[k] - on_top[k]) * (target_[k] - on_top[k]);
  }
  model_->learn(seen_, target_);
}

void Announced::reset() {
  if (model_ != nullptr) model_->reset();
  unit_ = loss_with_ = loss_without_ = 0;
  unusual_ = false;
}

void Announced::exchange(Archive& archive) {
  for (double* v : {&unit_, &loss_with_, &loss_without_}) archive.number(*v, Archive::not_negative);
  if (model_ != nullptr) model_->exchange(archive);
}

}  // namespace kalstream
