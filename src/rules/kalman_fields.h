// Fields that several Kalman filters have.
#pragma once

#include "core/fields.h"

namespace kalstream {

inline Field initial_covariance_field(double& where) {
  return {"initial_covariance", "p in P = p I at the start", &where, positive};
}

inline Field process_noise_field(Schedule& where) {
  return {"process_noise", "q: larger forgets faster", &where, not_negative};
}

inline Field partition_field(Partition& where) {
  static constexpr std::string_view names[] = {"node", "unit", "gate", "full"};
  return {"partition", "covariance blocks: node, unit, gate or full", choice(where, names)};
}

inline Field single_precision_field(bool& where) {
  return {"single_precision", "P takes half the memory; wants process_noise above 0", &where};
}

}  // namespace kalstream
