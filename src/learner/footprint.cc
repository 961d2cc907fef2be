#include "learner/footprint.h"

#include <optional>

#include "core/layout.h"
#include "learner/auto/experts.h"
#include "learner/auto/memory.h"
#include "learner/baselines.h"

namespace kalstream {
namespace {

std::optional<Partition> partition_of(const Sgd&) { return {}; }
std::optional<Partition> partition_of(const RmsProp&) { return {}; }
std::optional<Partition> partition_of(const Adam&) { return {}; }
std::optional<Partition> partition_of(const Ekf&) { return Partition::full; }
std::optional<Partition> partition_of(const Algorithm2& o) { return o.expert.partition; }
std::optional<Partition> partition_of(const Auto&) { return {}; }
std::optional<Partition> partition_of(const Rls&) { return Partition::node; }
std::optional<Partition> partition_of(const Ar&) { return Partition::node; }
std::optional<Partition> partition_of(const Naive&) { return {}; }
std::optional<Partition> partition_of(const Mean&) { return {}; }
std::optional<Partition> partition_of(const auto& o) { return o.partition; }

// The network inside, with past targets among its inputs.
NetworkOptions network_of(const LearnerOptions& o) {
  NetworkOptions network = o.network;
  const auto* ar = std::get_if<Ar>(&o.rule);
  if (ar != nullptr) return linear_network(ar->lags * network.outputs, network.outputs);
  network.inputs += o.lags * network.outputs;
  return is_baseline(o.rule) ? linear_network(network.inputs, network.outputs) : network;
}

struct Blocks {
  std::size_t count;
  std::size_t size;
};

// ParameterLayout::blocks by number alone: sizes from a snapshot may be anything.
std::vector<Blocks> blocks_of(const ParameterLayout& layout, Partition partition) {
  const Blocks output{layout.n_d, layout.output_row_size()};
  const std::size_t row = layout.gate_row_size();
  switch (partition) {
    case Partition::node:
      return {{layout.gate_rows(), row}, output};
    case Partition::unit:
      return {{layout.n_s, layout.gates() * row}, output};
    case Partition::gate:
      return {{layout.n_s > 0 ? layout.gates() : 0, layout.n_s * row}, output};
    default:
      return {{1, layout.size()}};
  }
}

}  // namespace

Footprint footprint(const LearnerOptions& options) {
  const auto n_d = static_cast<double>(options.network.outputs);
  if (std::holds_alternative<Naive>(options.rule) || std::holds_alternative<Mean>(options.rule))
    return {.bytes = 2 * n_d * sizeof(double), .learnt_bytes = n_d * sizeof(double)};
  if (const auto* rule = std::get_if<Auto>(&options.rule); rule != nullptr) {
    Footprint total{.networks = 0};
    const auto plans = plan_experts(*rule, options.network);
    for (const ExpertPlan& plan : plans) {
      if (!plan.has_network()) continue;  // says what it is shown, and holds nothing
      const Footprint one = footprint({.network = plan.network, .rule = plan.rule});
      total.weights = std::max(total.weights, one.weights);
      total.networks += one.networks;
      total.covariance_blocks += one.covariance_blocks;
      total.bytes += one.bytes;
      total.learnt_bytes += one.learnt_bytes;
    }
    // Samples in memory, and for each output two covariances of the experts.
    const auto sample =
        static_cast<double>(options.network.inputs) + static_cast<double>(rule->lags + 2) * n_d;
    const auto experts = static_cast<double>(plans.size());
    total.bytes +=
        (SampleMemory::usual_capacity * sample + 2 * n_d * experts * experts) * sizeof(double);
    return total;
  }
  const NetworkOptions network = network_of(options);
  const ParameterLayout layout(network);
  Footprint f{.weights = layout.size()};
  if (const auto* mixture = std::get_if<Algorithm2>(&options.rule); mixture != nullptr)
    f.networks = mixture->bounds(network.outputs).size();

  const auto n = static_cast<double>(layout.size());
  const auto n_s = static_cast<double>(layout.n_s);
  // θ, its copies for the kernels, candidates, variances; H, H again, PHᵀ and W.
  double numbers = n * (7 + 4 * n_d);
  numbers += network.derivative == Derivative::rtrl
                 ? 4 * n_s * static_cast<double>(layout.gate_weights())
                 : static_cast<double>(network.window) *
                       (static_cast<double>(layout.gate_row_size()) + 11 * n_s + 40);
  const auto partition = std::visit([](const auto& o) { return partition_of(o); }, options.rule);
  double learnt = n;
  for (const Blocks& blocks : partition ? blocks_of(layout, *partition) : std::vector<Blocks>{}) {
    const auto size = static_cast<double>(blocks.size);
    learnt += static_cast<double>(blocks.count) * size * (size + 1) / 2;
    numbers += static_cast<double>(blocks.count) * (size * (size + 1) / 2 + n_d * n_d);
    f.covariance_blocks += blocks.count * f.networks;
  }
  f.bytes = numbers * static_cast<double>(f.networks) * sizeof(double);
  f.learnt_bytes = learnt * static_cast<double>(f.networks) * sizeof(double);
  return f;
}

}  // namespace kalstream
