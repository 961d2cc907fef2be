#include "kalstream/learner.h"
#include "learner/network_learner.h"
#include "learner/parts.h"
#include "rules/rule.h"

namespace kalstream {

std::unique_ptr<Learner> make_from(const Recipe& recipe) {
  const LearnerOptions& options = recipe.options;
  options.validate();
  auto learner = with_info(options.rule, [&](const auto& info, const auto& rule) {
    if (info.whole_learner != nullptr) return info.whole_learner(options, rule);
    const NetworkOptions network = network_inside(options);
    std::unique_ptr<Learner> inner =
        info.network_learner != nullptr
            ? info.network_learner(network, options.loss, rule)
            : std::make_unique<NetworkLearner>(
                  network, info.update_rule(rule, ParameterLayout(network)), options.loss);
    // The scaler is inside of the lags: it knows the moments of the targets.
    if (recipe.scaled)
      inner = make_scaled(std::move(inner), network.output_activation, options.lags,
                          options.loss.has_link());
    return make_lagged(std::move(inner), options.network.inputs, options.lags);
  });
  learner->recipe_ = std::make_shared<const Recipe>(recipe);
  return learner;
}

std::unique_ptr<Learner> widened(const Learner& learner, std::size_t outputs) {
  Recipe recipe = *learner.recipe();
  recipe.options.network.outputs = outputs;
  auto wider = make_from(recipe);
  wider->go_on_from(learner);
  return wider;
}

std::unique_ptr<Learner> make_learner(const LearnerOptions& options) {
  return make_from({.options = options, .scaled = false});
}

std::unique_ptr<Learner> make_scaled_learner(const LearnerOptions& options) {
  return make_from({.options = options, .scaled = true});
}

}  // namespace kalstream
