#include <algorithm>
#include <sstream>

#include "core/finite.h"
#include "kalstream/learner.h"
#include "learner/auto/auto_learner.h"
#include "learner/baselines.h"
#include "learner/lagged.h"
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
                                   MixtureOptions{.prior_weights = std::move(prior),
                                                  .mixing_rate = rate,
                                                  .feedback = options.feedback,
                                                  .threads = options.threads});
}

// The scaler is inside of the lags: it knows the moments of the targets.
std::unique_ptr<Learner> make(const LearnerOptions& options, const auto& rule, bool scaled) {
  if constexpr (std::is_same_v<std::decay_t<decltype(rule)>, Auto>) {
    return std::make_unique<AutoLearner>(rule, options.network);
  } else if constexpr (requires { make_baseline(options, rule); }) {
    return make_baseline(options, rule);
  } else {
    NetworkOptions network = options.network;
    network.inputs += options.lags * network.outputs;
    auto learner = make(network, rule);
    if (scaled) learner = make_scaled(std::move(learner), network.output_activation, options.lags);
    return make_lagged(std::move(learner), options.network.inputs, options.lags);
  }
}

}  // namespace

std::unique_ptr<Learner> make_from(const Recipe& recipe) {
  const LearnerOptions& options = recipe.options;
  options.validate();
  auto learner = std::visit([&](const auto& rule) { return make(options, rule, recipe.scaled); },
                            options.rule);
  learner->recipe_ = std::make_shared<const Recipe>(recipe);
  return learner;
}

std::unique_ptr<Learner> make_learner(const LearnerOptions& options) {
  return make_from({.options = options, .scaled = false});
}

std::unique_ptr<Learner> make_scaled_learner(const LearnerOptions& options) {
  return make_from({.options = options, .scaled = true});
}

std::vector<std::string> expert_names(const LearnerOptions& options) {
  std::vector<std::string> names;
  if (const auto* rule = std::get_if<Auto>(&options.rule)) {
    for (ExpertPlan& plan : plan_experts(*rule, options.network))
      names.push_back(std::move(plan.name));
  } else if (const auto* mixture = std::get_if<Algorithm2>(&options.rule)) {
    for (const double bound : mixture->bounds(options.network.outputs)) {
      std::ostringstream name;
      name << "bound " << bound;
      names.push_back(name.str());
    }
  }
  return names;
}

}  // namespace kalstream
