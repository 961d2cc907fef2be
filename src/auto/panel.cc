#include "auto/panel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/archive.h"

namespace kalstream {

Expert::Expert(ExpertPlan what, const Sight& sight)
    : plan(std::move(what)),
      learner(make_expert(plan)),
      noise(noise_of(plan)),
      again_seen(sight.size()),
      again_target(sight.outputs) {}

void Expert::exchange(Archive& archive) {
  const auto exchange_one = [&](Cloned<Learner>& one) {
    bool is_there = one != nullptr;
    archive.flag(is_there);
    if (!is_there) return one.reset();
    if (one == nullptr) one = make_expert(plan);
    one->exchange(archive);
  };
  exchange_one(learner);
  exchange_one(next);
  archive.count(next_sample);
  archive.flag(is_behind);
  archive.require(!is_behind || (learner && next));
}

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

void Panel::send_to_sleep(std::size_t j) {
  Expert& e = experts_[j];
  e.learner.reset();
  e.next.reset();
  e.is_behind = false;
}

// What those say that have no network; the others are silent so far.
void Panel::begin(std::span<const double> seen) {
  std::ranges::fill(d_hat_, std::numeric_limits<double>::quiet_NaN());
  for (const Expert& e : experts_)
    if (!e.plan.has_network()) std::ranges::copy(e.view(seen), &d_hat_[place_of(e)]);
}

// What one says that has a network, in units of the targets.
template <class Ask>
void Panel::note(Expert& e, const ScaledSample& sample, const Ask& ask) {
  const std::span<const double> d_hat = ask(*e.learner, e.view(sample.seen));
  for (std::size_t k = 0; k < outputs_; ++k)
    d_hat_[place_of(e) + k] = e.plan.standardised ? sample.scale.in_units(k, d_hat[k]) : d_hat[k];
}

std::span<const double> Panel::predict(const ScaledSample& now, const ScaledSample& before) {
  begin(now.seen);
  each_awake([&](Expert& e) {
    note(e, e.is_behind ? before : now, [](Learner& l, auto x) { return l.predict(x); });
  });
  return d_hat_;
}

void Panel::start_forecast() {
  for (Expert& e : experts_)
    if (e.is_awake()) e.learner->start_forecast();
}

std::span<const double> Panel::forecast_next(const ScaledSample& now, const ScaledSample& before) {
  begin(now.seen);
  for (Expert& e : experts_)
    if (e.is_awake())
      note(e, e.is_behind ? before : now, [](Learner& l, auto x) { return l.forecast_next(x); });
  return d_hat_;
}

std::span<const double> Panel::relative_variance() {
  std::ranges::fill(relative_variance_, 1.0);
  each_awake([&](Expert& e) {
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
  for (Expert& e : experts_) {
    if (!e.plan.has_network()) continue;
    if (e.is_awake())
      e.learner->reset();
    else
      e.learner = make_expert(e.plan);
    e.next.reset();
    e.is_behind = false;
  }
}

void Panel::exchange(Archive& archive) {
  for (Expert& e : experts_)
    if (e.plan.has_network()) e.exchange(archive);
}

}  // namespace kalstream
