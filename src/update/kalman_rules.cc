// Which settings of the block-Kalman filter each rule is.
#include "update/block_kalman.h"

namespace kalstream {
namespace {

Precision precision_of(bool single) { return single ? Precision::single : Precision::twofold; }

BlockKalmanOptions options_of(const auto& o, Partition partition) {
  return {.partition = partition,
          .initial_covariance = o.initial_covariance,
          .process_noise = o.process_noise,
          .noise_floor = o.measurement_noise};
}

}  // namespace

std::unique_ptr<UpdateRule> make_rule(const Ekf& o, const ParameterLayout& layout) {
  BlockKalmanOptions options = options_of(o, Partition::full);
  options.threads = o.threads;
  options.precision = precision_of(o.single_precision);
  return std::make_unique<BlockKalman>(options, layout);
}

std::unique_ptr<UpdateRule> make_rule(const Dekf& o, const ParameterLayout& layout) {
  BlockKalmanOptions options = options_of(o, o.partition);
  options.shared_innovation = true;
  options.output_apart = o.output_apart;
  return std::make_unique<BlockKalman>(options, layout);
}

std::unique_ptr<UpdateRule> make_rule(const Iekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(options_of(o, o.partition), layout);
}

std::unique_ptr<UpdateRule> make_rule(const Algorithm1& o, const ParameterLayout& layout) {
  const double bound = o.error_bound;
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.noise_floor,
                         .noise_factor = o.noise_factor,
                         .gate_threshold = o.gate == Gate::bound ? 4 * bound : 4 * bound * bound,
                         .process_noise_when_gated = o.process_noise_when_gated,
                         .precision = precision_of(o.single_precision)},
      layout);
}

}  // namespace kalstream
