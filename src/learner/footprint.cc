#include "learner/footprint.h"

#include <optional>

#include "core/layout.h"

namespace kalstream {
namespace {

std::optional<Partition> partition_of(const Sgd&) { return {}; }
std::optional<Partition> partition_of(const RmsProp&) { return {}; }
std::optional<Partition> partition_of(const Adam&) { return {}; }
std::optional<Partition> partition_of(const Ekf&) { return Partition::full; }
std::optional<Partition> partition_of(const Algorithm2& o) { return o.expert.partition; }
std::optional<Partition> partition_of(const Auto&) { return {}; }
std::optional<Partition> partition_of(const auto& o) { return o.partition; }

}  // namespace

Footprint footprint(const LearnerOptions& options) {
  const NetworkOptions& network = options.network;
  const ParameterLayout layout(network);
  Footprint f{.weights = layout.size()};
  if (const auto* mixture = std::get_if<Algorithm2>(&options.rule); mixture != nullptr)
    f.networks = mixture->bounds(network.outputs).size();

  const auto n = static_cast<double>(layout.size());
  const auto n_s = static_cast<double>(layout.n_s);
  // θ, its copies for the kernels, candidates, variances; H, H again, PHᵀ and W.
  double numbers = n * (7 + 4 * static_cast<double>(layout.n_d));
  numbers += network.derivative == Derivative::rtrl
                 ? 4 * n_s * static_cast<double>(layout.gate_weights())
                 : static_cast<double>(network.window) *
                       (static_cast<double>(layout.gate_row_size()) + 8 * n_s);
  const auto partition = std::visit([](const auto& o) { return partition_of(o); }, options.rule);
  if (partition) {
    const auto blocks = layout.blocks(*partition);
    f.covariance_blocks = blocks.size() * f.networks;
    for (const Block& b : blocks) {
      const auto size = static_cast<double>(block_size(b));
      numbers += size * (size + 1) / 2;
    }
  }
  f.bytes = numbers * static_cast<double>(f.networks) * sizeof(double);
  return f;
}

}  // namespace kalstream
