#include <algorithm>

#include "core/finite.h"
#include "kalstream/learner.h"
#include "learner/auto.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "learner/scaled.h"

namespace kalstream {

bool Learner::forecast(std::size_t horizon, std::span<const double> future_inputs,
                       std::span<double> d_hat) {
  if (future_inputs.size() != horizon * inputs() || d_hat.size() != horizon * outputs() ||
      !all_usable(future_inputs))
    return false;
  start_forecast();
  for (std::size_t k = 0; k < horizon; ++k) {
    const auto next = forecast_next(future_inputs.subspan(k * inputs(), inputs()));
    std::copy(next.begin(), next.end(), d_hat.begin() + k * outputs());
  }
  return true;
}

namespace {

std::unique_ptr<Learner> make(const NetworkOptions& network, const auto& rule) {
  return std::make_unique<NetworkLearner>(network, make_rule(rule, ParameterLayout(network)));
}

// Algorithm 2: one Algorithm 1 per error bound, all from the same start.
std::unique_ptr<Learner> make(const NetworkOptions& network, const Algorithm2& options) {
  const auto bounds = options.bounds(network.outputs);
  auto prior = options.prior_weights;
  if (prior.empty()) prior.assign(bounds.size(), 1.0);

  std::vector<std::unique_ptr<Learner>> experts;
  for (const double bound : bounds) {
    Algorithm1 expert = options.expert;
    expert.error_bound = bound;
    experts.push_back(make(network, expert));
  }
  const double rate =
      options.mixing_rate.value_or(1 / (8.0 * static_cast<double>(network.outputs)));
  return std::make_unique<Mixture>(std::move(experts),
                                   MixtureOptions{std::move(prior), rate, options.feedback});
}

std::unique_ptr<Learner> make(const NetworkOptions& network, const Auto& options) {
  return std::make_unique<AutoLearner>(options, network);
}

}  // namespace

std::unique_ptr<Learner> make_learner(const LearnerOptions& options) {
  options.validate();
  return std::visit([&](const auto& rule) { return make(options.network, rule); }, options.rule);
}

std::unique_ptr<Learner> make_scaled_learner(const LearnerOptions& options) {
  return make_scaled(make_learner(options), options.network.output_activation);
}

}  // namespace kalstream
