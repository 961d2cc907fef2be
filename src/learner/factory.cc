#include <algorithm>

#include "core/finite.h"
#include "kalstream/learner.h"
#include "learner/lagged.h"
#include "learner/network_learner.h"
#include "learner/rules/rule.h"
#include "learner/scaled.h"

namespace kalstream {

namespace {

/// numbers = rows × columns, whatever their size: a product of two could overflow.
bool are_rows(std::size_t numbers, std::size_t rows, std::size_t columns) {
  if (columns == 0) return numbers == 0;
  return numbers % columns == 0 && numbers / columns == rows;
}

}  // namespace

bool Learner::forecast(std::size_t horizon, std::span<const double> future_inputs,
                       std::span<double> d_hat) {
  if (!are_rows(future_inputs.size(), horizon, inputs()) ||
      !are_rows(d_hat.size(), horizon, outputs()) || !all_usable(future_inputs))
    return false;
  start_forecast();
  for (std::size_t k = 0; k < horizon; ++k) {
    const auto next = forecast_next(future_inputs.subspan(k * inputs(), inputs()));
    std::copy(next.begin(), next.end(), d_hat.begin() + k * outputs());
  }
  return true;
}

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
