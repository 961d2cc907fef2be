#include "learner/footprint.h"

#include <vector>

#include "core/layout.h"
#include "core/memory_limit.h"

namespace kalstream {
namespace {

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

NetworkOptions network_inside(const LearnerOptions& options) {
  NetworkOptions network = options.network;
  network.inputs += options.lags * network.outputs;
  if (options.loss.has_link()) network.output_activation = OutputActivation::identity;
  return network;
}

Footprint network_footprint(const NetworkOptions& network, std::optional<Partition> partition,
                            std::size_t networks, bool single_precision) {
  const ParameterLayout layout(network);
  Footprint f{.weights = layout.size(), .networks = networks};
  const auto n_d = static_cast<double>(network.outputs);
  const auto n = static_cast<double>(layout.size());
  const auto n_s = static_cast<double>(layout.n_s);
  // θ, its copies for the kernels, candidates, variances; H, H again, PHᵀ and W.
  double numbers = n * (7 + 4 * n_d);
  numbers += network.derivative == Derivative::rtrl
                 ? 4 * n_s * static_cast<double>(layout.gate_weights())
                 : static_cast<double>(network.window) *
                       (static_cast<double>(layout.gate_row_size()) + 11 * n_s + 40);
  double learnt = n;
  for (const Blocks& blocks : partition ? blocks_of(layout, *partition) : std::vector<Blocks>{}) {
    const auto size = static_cast<double>(blocks.size);
    const double triangle = size * (size + 1) / 2 * (single_precision ? 0.5 : 1);
    learnt += static_cast<double>(blocks.count) * triangle;
    numbers += static_cast<double>(blocks.count) * (triangle + n_d * n_d);
    f.covariance_blocks += blocks.count * f.networks;
  }
  f.bytes = numbers * static_cast<double>(f.networks) * sizeof(double);
  f.learnt_bytes = learnt * static_cast<double>(f.networks) * sizeof(double);
  return f;
}

void require_memory(const LearnerOptions& options) {
  require_memory(footprint(options).bytes, "learner", "use fewer hidden units or inputs");
}

}  // namespace kalstream
