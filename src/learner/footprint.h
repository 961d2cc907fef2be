#pragma once

#include <cstddef>
#include <optional>

#include "kalstream/options.h"

namespace kalstream {

/// What a learner of these options holds, before it is made.
struct Footprint {
  std::size_t weights = 0;            ///< of one network
  std::size_t networks = 1;           ///< experts of a mixture
  std::size_t covariance_blocks = 0;  ///< over all networks
  double bytes = 0;                   ///< about; dominated by covariances, H and sensitivities
  double learnt_bytes = 0;            ///< of them at least: weights and covariances
};

/// Of a learner of any rule: each rule says it of its own (rules/rule.h).
Footprint footprint(const LearnerOptions& options);

/// Throws NotEnoughMemory if a learner of these options needs more than this process may use.
void require_memory(const LearnerOptions& options);

/// Of so many networks, each with one covariance per block of the partition, or none.
Footprint network_footprint(const NetworkOptions& network, std::optional<Partition> partition = {},
                            std::size_t networks = 1, bool single_precision = false);

/// The network of these options, with past targets among its inputs and the output its loss needs.
NetworkOptions network_inside(const LearnerOptions& options);

}  // namespace kalstream
