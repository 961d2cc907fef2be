#include "auto/panel.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kalstream {

Expert::Expert(ExpertPlan what, const Sight& sight)
    : plan(std::move(what)),
      learner(make_expert(plan)),
      noise(noise_of(plan)),
      again_seen(sight.size()),
      again_target(sight.outputs) {}

Panel::Panel(const Auto& options, const NetworkOptions& network)
    : outputs_(network.outputs),
      experts_([&] {
        std::vector<Expert> all;
        for (ExpertPlan& plan : plan_experts(options, network))
          all.emplace_back(std::move(plan), sight_of(options, network));
        return all;
      }()),
      d_hat_(size() * outputs_),
      relative_variance_(size() * outputs_),
      workers_(workers_for(options.threads, size())) {
  std::vector<double> cost;
  for (const Expert& expert : experts_) {
    by_cost_.push_back(by_cost_.size());
    cost.push_back(cost_of(expert.plan));
  }
  std::stable_sort(by_cost_.begin(), by_cost_.end(),
                   [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
}

Expert& Panel::wake(std::size_t j) {
  Expert& e = experts_[j];
  if (!e.is_awake()) e.learner = make_expert(e.plan);
  return e;
}

void Panel::note(const Expert& e, std::span<const double> d_hat, const Scale& scale) {
  for (std::size_t k = 0; k < outputs_; ++k)
    d_hat_[place_of(e) + k] = e.plan.standardised ? scale.in_units(k, d_hat[k]) : d_hat[k];
}

// What those say that have no network; the others are silent so far.
void Panel::begin(std::span<const double> seen) {
  std::ranges::fill(d_hat_, std::numeric_limits<double>::quiet_NaN());
  for (const Expert& e : experts_)
    if (!e.plan.has_network()) std::ranges::copy(e.view(seen), &d_hat_[place_of(e)]);
}

std::span<const double> Panel::predict(std::span<const double> seen, const Scale& scale) {
  begin(seen);
  each([&](Expert& e) { note(e, e.learner->predict(e.view(seen)), scale); });
  return d_hat_;
}

void Panel::start_forecast() {
  for (Expert& e : experts_)
    if (e.is_awake()) e.learner->start_forecast();
}

std::span<const double> Panel::forecast_next(std::span<const double> seen, const Scale& scale) {
  begin(seen);
  for (Expert& e : experts_)
    if (e.is_awake()) note(e, e.learner->forecast_next(e.view(seen)), scale);
  return d_hat_;
}

std::span<const double> Panel::relative_variance() {
  std::ranges::fill(relative_variance_, 1.0);
  each([&](Expert& e) {
    const auto spread = e.learner->spread();
    for (std::size_t k = 0; k < outputs_; ++k)
      relative_variance_[place_of(e) + k] = spread.empty() ? 1 : spread[k] * spread[k] / e.noise;
  });
  return relative_variance_;
}

StepReport Panel::report() const {
  StepReport all{.status = StepStatus::rejected_covariance, .experts = 0, .weights = {}};
  for (const Expert& e : experts_) {
    if (!e.is_awake()) continue;
    all.status = std::min(all.status, e.report.status);
    all.experts += e.report.experts;
    all.applied += e.report.applied;
    all.rejected += e.report.rejected;
  }
  return all;
}

LearnerState Panel::state() const {
  LearnerState all{.networks = 0, .weights = {}};
  for (const Expert& e : experts_) {
    if (!e.is_awake()) continue;
    const LearnerState one = e.learner->state();
    all.networks += one.networks;
    all.covariance_trace += one.covariance_trace;
  }
  return all;
}

void Panel::reset() {
  for (std::size_t j = 0; j < size(); ++j)
    if (Expert& e = wake(j); e.is_awake()) e.learner->reset();
}

void Panel::exchange(Archive& archive) {
  for (Expert& e : experts_)
    if (e.is_awake()) e.learner->exchange(archive);
}

}  // namespace kalstream
