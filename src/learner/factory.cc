#include "kalstream/learner.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "learner/scaled.h"

namespace kalstream {
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

}  // namespace

std::unique_ptr<Learner> make_learner(const LearnerOptions& options) {
  options.validate();
  return std::visit([&](const auto& rule) { return make(options.network, rule); }, options.rule);
}

std::unique_ptr<Learner> make_scaled_learner(const LearnerOptions& options) {
  return make_scaled(make_learner(options), options.network.output_activation);
}

}  // namespace kalstream
