#include "learner/mixture.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "kernels/kernels.h"
#include "learner/network_learner.h"
#include "learner/parts.h"

namespace kalstream {

Mixture::Mixture(std::vector<std::unique_ptr<Learner>> experts, MixtureOptions options)
    : experts_(std::make_move_iterator(experts.begin()), std::make_move_iterator(experts.end())),
      loss_(options.loss, outputs()),
      options_(std::move(options)),
      log_w_(size()),
      w_(size()),
      expert_d_hat_(size() * outputs()),
      d_hat_(outputs()),
      spread_(outputs()),
      ahead_(outputs()),
      reports_(size()),
      workers_(workers_for(options_.threads, size())) {
  set_log_weights_to_prior();
}

void Mixture::set_log_weights_to_prior() {
  for (std::size_t j = 0; j < size(); ++j) log_w_[j] = std::log(options_.prior_weights[j]);
  normalise();
}

// w_j = exp(log w_j) / Σ exp(log w). Kept in the log domain, shifted so that the largest is 0:
// no sequence of losses, however long, underflows the best expert.
void Mixture::normalise() {
  const double top = *std::max_element(log_w_.begin(), log_w_.end());
  double sum = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    log_w_[j] -= top;
    sum += w_[j] = std::exp(log_w_[j]);
  }
  for (double& w : w_) w /= sum;
}

// d̂_j of every expert and d̂ = Σ w_j d̂_j. False if an expert cannot use x.
bool Mixture::gather_predictions(std::span<const double> x) {
  const std::size_t n_d = d_hat_.size();
  workers_.run(size(), [&](std::size_t j) {
    const auto d_hat_j = experts_[j]->predict(x);
    std::copy(d_hat_j.begin(), d_hat_j.end(), expert_d_hat_.begin() + j * n_d);
  });
  std::fill(d_hat_.begin(), d_hat_.end(), 0.0);
  for (std::size_t j = 0; j < size(); ++j)
    kernels::active().axpy(n_d, w_[j], &expert_d_hat_[j * n_d], d_hat_.data());
  return all_finite(d_hat_);
}

std::span<const double> Mixture::predict(std::span<const double> x) {
  const FlushDenormals guard;
  if (!gather_predictions(x))
    std::fill(d_hat_.begin(), d_hat_.end(), std::numeric_limits<double>::quiet_NaN());
  return d_hat_;
}

std::span<const double> Mixture::spread() {
  const FlushDenormals guard;
  const std::size_t n_d = d_hat_.size();
  for (std::size_t k = 0; k < n_d; ++k) {
    double variance = 0;
    for (std::size_t j = 0; j < size(); ++j) {
      const double beyond = expert_d_hat_[j * n_d + k] - d_hat_[k];
      variance += w_[j] * beyond * beyond;
    }
    spread_[k] = std::sqrt(variance);
    if (!(spread_[k] > 0 && std::isfinite(spread_[k]))) return {};
  }
  return spread_;
}

StepReport Mixture::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (d.size() != d_hat_.size() || !all_finite(d) || !loss_.accepts(d) || !gather_predictions(x))
    return refusal(*this);
  const StepReport total = each([&](std::size_t j) {
    if (options_.feedback == Feedback::own) return experts_[j]->learn(x, d);
    return static_cast<NetworkLearner&>(*experts_[j]).learn_from(x, d, d_hat_);
  });
  reweight(d);
  return total;
}

StepReport Mixture::advance(std::span<const double> x) {
  const FlushDenormals guard;
  if (!gather_predictions(x)) return refusal(*this);
  return each([&](std::size_t j) { return experts_[j]->advance(x); });
}

// What the experts report of one step, added up.
template <class Step>
StepReport Mixture::each(const Step& step) {
  workers_.run(size(), [&](std::size_t j) { reports_[j] = step(j); });
  StepReport total{.status = StepStatus::rejected_covariance, .experts = size(), .weights = w_};
  for (const StepReport& one : reports_) {
    total.status = std::min(total.status, one.status);  // in the order of what was achieved
    total.applied += one.applied;
    total.rejected += one.rejected;
    total.covariance_trace += one.covariance_trace;
  }
  return total;
}

LearnerState Mixture::state() const {
  LearnerState total{.networks = 0, .weights = w_};
  for (const auto& expert : experts_) {
    const LearnerState one = expert->state();
    total.networks += one.networks;
    total.covariance_trace += one.covariance_trace;
  }
  return total;
}

// log w_j ← log w_j − η ℓ(d, d̂_j).
void Mixture::reweight(std::span<const double> d) {
  const std::size_t n_d = d_hat_.size();
  for (std::size_t j = 0; j < size(); ++j) {
    const double loss = loss_.of(d, std::span(expert_d_hat_).subspan(j * n_d, n_d));
    log_w_[j] -= std::min(options_.mixing_rate * loss, std::numeric_limits<double>::max());
  }
  normalise();
}

void Mixture::start_forecast() {
  for (const auto& expert : experts_) expert->start_forecast();
}

std::span<const double> Mixture::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  std::fill(ahead_.begin(), ahead_.end(), 0.0);
  for (std::size_t j = 0; j < size(); ++j)
    kernels::active().axpy(ahead_.size(), w_[j], experts_[j]->forecast_next(x).data(),
                           ahead_.data());
  return ahead_;
}

void Mixture::reset() {
  for (const auto& expert : experts_) expert->reset();
  set_log_weights_to_prior();
}

void Mixture::exchange(Archive& archive) {
  for (const auto& expert : experts_) {
    expert->exchange(archive);
    archive.require(expert->samples() == samples());
  }
  archive.numbers(log_w_, [](double v) { return v <= 0; });  // −∞ after absurd losses
  archive.require(*std::max_element(log_w_.begin(), log_w_.end()) == 0);
  archive.numbers(w_, Archive::fraction);
}

}  // namespace kalstream
