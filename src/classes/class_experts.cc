#include "classes/class_experts.h"

#include <algorithm>

#include "core/ablation.h"
#include "core/layout.h"

namespace kalstream {
namespace {

/// Of a network, what distinguishes it from the others.
struct ClassNet {
  Cell cell = Cell::feedforward;
  std::size_t hidden = 0;  // none: a logistic regression
  std::size_t lags = 0;
  double process_noise = 0;
  std::size_t replays = 0;
};

// A network under Algorithm 1 with one covariance; of more than two classes with one for each row
// of weights, for the cost of one grows with the third power of their number.
ClassNetworkPlan network_plan(const ClassNet& o, const NetworkOptions& network,
                              std::uint64_t number) {
  constexpr std::size_t most_weights = 400;
  const std::size_t classes = classes_of(network);
  const LabelCode code{classes};
  ClassNetworkPlan plan{.network = {}, .rule = {}, .lags = o.lags, .replays = o.replays};
  NetworkOptions& n = plan.network;
  n.inputs = network.inputs + o.lags * code.size();
  n.outputs = classes == 2 ? 1 : classes;
  n.cell = o.cell;
  n.direct = true;
  n.hidden = o.hidden == 0 ? 0 : std::max<std::size_t>(o.hidden * network.hidden / 16, 2);
  n.window = network.window;
  n.seed = network.seed * 1000 + number;
  while (n.hidden > 4 && ParameterLayout(n).size() > most_weights) --n.hidden;
  Algorithm1 rule;
  // Linear weights are fed with x/√inputs.
  rule.initial_covariance =
      o.hidden > 0 ? 1 : 4 * static_cast<double>(std::max<std::size_t>(network.inputs, 1));
  rule.process_noise = o.process_noise;
  rule.noise_floor = 1;
  rule.error_bound = 1e-9;
  if (classes == 2) {
    rule.partition = Partition::full;
    rule.noise_factor = o.hidden == 0 ? 0 : 0.5;
  } else {
    rule.partition = Partition::node;
    rule.noise_factor = 1;
  }
  plan.rule = rule;
  return plan;
}

// An LSTM under the full EKF, or with several classes under one with a covariance for each row of
// weights: auto-max's, with the numbers that learn binary addition (docs/losses.md).
ClassNetworkPlan full_ekf_plan(const GateBias& bias, const NetworkOptions& network,
                               std::uint64_t number) {
  constexpr double p = 100;
  constexpr double r = 33;
  const Schedule q = Schedule::exponential(1e-3, 1e-6, 2000);
  ClassNetworkPlan plan{.network = {}, .rule = {}, .link_scale = 8};
  plan.network.inputs = network.inputs;
  plan.network.outputs = network.outputs;
  plan.network.hidden = std::max<std::size_t>(network.hidden * 3 / 4, 2);
  plan.network.gate_bias = bias;
  plan.network.window = network.window;
  plan.network.seed = network.seed * 1000 + number;
  if (classes_of(network) == 2)
    plan.rule = Ekf{.initial_covariance = p, .measurement_noise = r, .process_noise = q};
  else
    plan.rule = Dekf{.initial_covariance = p,
                     .measurement_noise = r,
                     .process_noise = q,
                     .partition = Partition::node};
  return plan;
}

}  // namespace

std::vector<ClassExpertPlan> plan_class_experts(const Auto& options,
                                                const NetworkOptions& network) {
  const std::size_t classes = classes_of(network);
  const bool has_networks = classes <= constants::few_classes;
  std::vector<ClassExpertPlan> list;
  const bool has_inputs = network.inputs > 0;
  const auto add = [&](const char* name, const ClassNet& net) {
    if (has_inputs || net.lags > 0)
      list.push_back({name, network_plan(net, network, list.size() + 1)});
  };
  if (has_networks) {
    add("replay2", {.hidden = 16, .process_noise = 1e-5, .replays = 2});
    add("memoryless", {.hidden = 16, .process_noise = 1e-4});
    add("gru-lag1", {.cell = Cell::gru, .hidden = 6, .lags = 1, .process_noise = 1e-5});
  }
  if (options.experts > 0 && list.size() > options.experts) list.resize(options.experts);
  if (options.full_ekf && has_inputs) {
    list.push_back({"ekf", full_ekf_plan({-0.5, 0.5, -0.5}, network, list.size() + 1)});
    list.push_back({"ekf-open", full_ekf_plan({5.0, 5.0, {}}, network, list.size() + 1)});
    // How soon such a network finds what is to be remembered depends on its first weights: the
    // second pair has others.
    list.push_back({"ekf-2", full_ekf_plan({-0.5, 0.5, -0.5}, network, list.size() + 1)});
    list.push_back({"ekf-open-2", full_ekf_plan({5.0, 5.0, {}}, network, list.size() + 1)});
  }

  if (classes <= constants::many_classes) add("linear", {});
  if (has_networks) {
    add("linear-lag2", {.lags = 2, .process_noise = 1e-5});
  } else {
    if (has_inputs) {
      const double forgetting = 1e-3 / static_cast<double>(network.inputs);
      list.push_back({"softmax", SoftmaxPlan{}});
      list.push_back({"softmax-recent", SoftmaxPlan{.process_noise = forgetting}});
    }
    list.push_back({"softmax-lag2", SoftmaxPlan{.lags = 2}});
  }
  if (has_inputs) {
    const std::uint64_t seed = network.seed * 1000;
    list.push_back({"boosted", BoostingPlan{.trees = classes == 2 ? 32U : 64U,
                                            .leaves = 16,
                                            .every = classes == 2 ? 16U : 10U,
                                            .least = 1,
                                            .seed = seed + 1}});
    list.push_back(
        {"boosted-recent",
         BoostingPlan{
             .window = 400, .trees = 24, .leaves = 16, .every = 8, .least = 1, .seed = seed + 2}});
    list.push_back({"kernel", has_networks ? Kernel{} : Kernel{.memory = 5000, .renewal = 5000}});
    list.push_back({"neighbours", NeighboursPlan{}});
    list.push_back({"bayes", BayesPlan{}});
  }
  list.push_back({"frequencies", FrequenciesPlan{}});
  list.push_back({"succession", SuccessionPlan{}});
  std::erase_if(list, [](const ClassExpertPlan& plan) { return is_left_out(plan.name); });
  return list;
}

OwnedExpert make_class_expert(const ClassExpertPlan& plan, std::size_t inputs,
                              std::size_t classes) {
  return std::visit([&](const auto& what) { return make_class_expert(what, inputs, classes); },
                    plan.what);
}

}  // namespace kalstream
