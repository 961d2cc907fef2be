#include "kalstream/rules/algorithm2.h"

#include <cmath>
#include <sstream>

#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "rules/rule.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

// Its experts' options are its own, but for the bound: each expert has one.
Fields fields(Algorithm2& o) {
  static constexpr std::string_view feedbacks[] = {"own", "mixture"};
  Fields shared = Algorithm1::info().fields(o.expert);
  for (Field& field : shared)
    if (field.key == "error_bound") field = no_setting(field);
  return shared +
         Fields{{"error_bounds", "one expert each, e.g. 0.01,0.05,0.25", &o.error_bounds, positive},
                {"prior_weights", "of the experts", &o.prior_weights, positive},
                {"mixing_rate",
                 "of the experts' weights; none: the loss's own, squared: 1/(8 outputs)",
                 &o.mixing_rate, positive},
                {"feedback", "experts learn from their own or the mixture's error",
                 choice(o.feedback, feedbacks)},
                {"threads", "that share the experts; pays from some 30 units on", &o.threads,
                 at_least_1}};
}

// One Algorithm 1 per error bound, all from the same start.
std::unique_ptr<Learner> make(const NetworkOptions& network, const Loss& loss,
                              const Algorithm2& options) {
  const auto bounds = options.bounds(network.outputs);
  auto prior = options.prior_weights;
  if (prior.empty()) prior.assign(bounds.size(), 1.0);

  std::vector<std::unique_ptr<Learner>> experts;
  for (const double bound : bounds) {
    Algorithm1 expert = options.expert;
    expert.error_bound = bound;
    experts.push_back(std::make_unique<NetworkLearner>(
        network, make_rule(expert, ParameterLayout(network)), loss));
  }
  const double own_rate = LossFunction(loss, network.outputs).mixing_rate();
  return std::make_unique<Mixture>(
      std::move(experts), MixtureOptions{.prior_weights = std::move(prior),
                                         .mixing_rate = options.mixing_rate.value_or(own_rate),
                                         .feedback = options.feedback,
                                         .threads = options.threads,
                                         .loss = loss});
}

std::vector<std::string> expert_names_of(const LearnerOptions& options, const Algorithm2& rule) {
  std::vector<std::string> names;
  for (const double bound : rule.bounds(options.network.outputs)) {
    std::ostringstream name;
    name << "bound " << bound;
    names.push_back(name.str());
  }
  return names;
}

}  // namespace

std::vector<double> halving_error_bounds(std::size_t outputs, double smallest) {
  std::vector<double> bounds;
  for (double b = std::sqrt(static_cast<double>(outputs)); b > smallest; b /= 2)
    bounds.push_back(b);
  bounds.push_back(smallest);
  return bounds;
}

std::vector<double> Algorithm2::bounds(std::size_t outputs) const {
  return error_bounds.empty() ? halving_error_bounds(outputs) : error_bounds;
}

void Algorithm2::validate() const { validate_rule(*this); }

const RuleInfo<Algorithm2>& Algorithm2::info() {
  static const RuleInfo<Algorithm2> info{
      .learners = {{"alg2", "Algorithm 2: a mixture of Algorithm 1 over error bounds"}},
      .stored_as = "algorithm2",
      .fields = fields,
      .check = [](const Algorithm2& o) { o.expert.validate(); },
      .check_all =
          [](const LearnerOptions& o, const Algorithm2& rule) {
            require(rule.prior_weights.empty() ||
                        rule.prior_weights.size() == rule.bounds(o.network.outputs).size(),
                    "prior_weights", "as many as error_bounds");
          },
      .network_learner = make,
      .footprint =
          [](const LearnerOptions& o, const Algorithm2& rule) {
            return network_footprint(network_inside(o), rule.expert.partition,
                                     rule.bounds(o.network.outputs).size());
          },
      .expert_names = expert_names_of,
  };
  return info;
}

}  // namespace kalstream
