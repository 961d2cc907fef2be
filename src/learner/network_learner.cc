#include "learner/network_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "model/network.h"

namespace kalstream {

NetworkLearner::NetworkLearner(const NetworkOptions& network, std::unique_ptr<UpdateRule> rule,
                               const Loss& loss)
    : network_(network),
      layout_(network),
      theta_(layout_.size()),
      differentiator_(make_differentiator(network)),
      rule_(std::move(rule)),
      loss_(loss, layout_.n_d),
      x_(layout_.n_inputs),
      prediction_(layout_.n_d),
      no_prediction_(layout_.n_d, std::numeric_limits<double>::quiet_NaN()),
      spread_(rule_->has_variance() ? layout_.n_d : 0),
      ahead_(layout_.n_d),
      e_(layout_.n_d),
      H_(layout_.n_d * layout_.size()),
      e_white_(loss_.is_squared() ? 0 : e_.size()),
      H_white_(loss_.is_squared() ? 0 : H_.size()) {
  draw_initial_weights(network_, layout_, theta_);
}

// Brings prediction_ up to date for x. False if x cannot be used.
bool NetworkLearner::forward(std::span<const double> x) {
  if (x.size() != network_.inputs || !all_usable(x)) return false;
  if (!forward_done_ || !std::equal(x.begin(), x.end(), x_.begin())) {
    std::copy(x.begin(), x.end(), x_.begin());
    const auto d_hat = differentiator_->forward(theta_.data(), x_);
    std::copy(d_hat.begin(), d_hat.end(), prediction_.begin());
    loss_.link(prediction_);
    forward_done_ = true;
    H_done_ = spread_done_ = false;
  }
  return true;
}

std::span<const double> NetworkLearner::predict(std::span<const double> x) {
  const FlushDenormals guard;
  return forward(x) ? prediction_ : no_prediction_;
}

std::span<const double> NetworkLearner::spread() {
  const FlushDenormals guard;
  if (spread_.empty() || !forward_done_) return {};
  if (!spread_done_) {
    differentiate();
    if (loss_.is_squared()) {
      rule_->variance(H_, spread_);
    } else {
      loss_.whiten(prediction_, H_, H_white_);
      rule_->variance(H_white_, spread_);
      loss_.to_variance_of_target(spread_);
    }
    for (double& s : spread_) s = std::sqrt(s);
    spread_done_ = true;
  }
  return spread_;
}

void NetworkLearner::differentiate() {
  if (!H_done_) differentiator_->jacobian(theta_.data(), H_);
  H_done_ = true;
}

StepReport NetworkLearner::learn(std::span<const double> x, std::span<const double> d) {
  return learn_from(x, d, prediction_);
}

StepReport NetworkLearner::learn_from(std::span<const double> x, std::span<const double> d,
                                      std::span<const double> mu) {
  const FlushDenormals guard;
  if (d.size() != e_.size() || !all_finite(d) || !loss_.accepts(d) || !forward(x))
    return report(StepStatus::rejected_input);
  for (std::size_t k = 0; k < e_.size(); ++k) e_[k] = d[k] - prediction_[k];

  const bool wanted = rule_->wants_jacobian(e_);
  const bool rule_knows_H = spread_done_;
  if (wanted) differentiate();
  commit();
  if (!wanted) {
    rule_->skip();
    return report(StepStatus::gated);
  }
  for (std::size_t k = 0; k < e_.size(); ++k) e_[k] = d[k] - mu[k];
  const StepStatus status = update(mu, rule_knows_H);
  if (status == StepStatus::applied) differentiator_->weights_changed();
  return report(status);
}

// The squared error is the rule's own; of any other it sees what the loss makes of e and H, which
// depends on both μ and e.
StepStatus NetworkLearner::update(std::span<const double> mu, bool rule_knows_H) {
  if (loss_.is_squared())
    return rule_->update(e_, rule_knows_H ? std::span<const double>() : std::span<const double>(H_),
                         theta_);
  loss_.whiten(mu, e_, H_, e_white_, H_white_);
  return rule_->update(e_white_, H_white_, theta_);
}

StepReport NetworkLearner::advance(std::span<const double> x) {
  const FlushDenormals guard;
  if (!forward(x)) return report(StepStatus::rejected_input);
  commit();
  return report(StepStatus::missing);
}

void NetworkLearner::commit() {
  differentiator_->commit(theta_.data());
  forward_done_ = H_done_ = spread_done_ = false;
  ++samples_;
}

StepReport NetworkLearner::report(StepStatus status) const {
  return {.status = status,
          .experts = 1,
          .applied = status == StepStatus::applied ? 1U : 0U,
          .rejected = is_rejected(status) ? 1U : 0U,
          .covariance_trace = rule_->covariance_trace(),
          .weights = {}};
}

void NetworkLearner::start_forecast() {
  const FlushDenormals guard;
  differentiator_->start_ahead(theta_.data());
}

std::span<const double> NetworkLearner::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  if (x.size() != network_.inputs || !all_usable(x)) return no_prediction_;
  differentiator_->ahead(theta_.data(), x, ahead_);
  loss_.link(ahead_);
  return ahead_;
}

void NetworkLearner::reset() {
  draw_initial_weights(network_, layout_, theta_);
  restart();
}

void NetworkLearner::restart_from(std::span<const double> theta) {
  std::copy(theta.begin(), theta.end(), theta_.begin());
  restart();
}

void NetworkLearner::restart() {
  differentiator_->reset();
  rule_->reset();
  samples_ = 0;
  forward_done_ = H_done_ = spread_done_ = false;
}

// A prediction not yet learnt from is left out: learn makes it again, to the same bits.
void NetworkLearner::exchange(Archive& archive) {
  archive.count(samples_);
  archive.numbers(theta_);
  differentiator_->exchange(archive);
  rule_->exchange(archive);
}

}  // namespace kalstream
