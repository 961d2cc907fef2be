// What the experts of `auto` for classes are.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "classes/boosted.h"
#include "classes/class_expert.h"
#include "classes/network_expert.h"

namespace kalstream {

struct NeighboursPlan {};
struct BayesPlan {
  double keep;
};
struct FrequenciesPlan {
  double keep;
};
struct SuccessionPlan {
  double keep;
};

struct ClassExpertPlan {
  std::string name;
  std::variant<ClassNetworkPlan, BoostedPlan, NeighboursPlan, BayesPlan, FrequenciesPlan,
               SuccessionPlan>
      what;
};

/// The experts for a stream of this kind: the most useful networks first, of which Auto::experts
/// may take fewer, then all that always take part. Names and memory follow from it.
std::vector<ClassExpertPlan> plan_class_experts(const Auto& options, const NetworkOptions& network);

std::unique_ptr<ClassExpert> make_class_expert(const ClassExpertPlan& plan, std::size_t inputs,
                                               std::size_t classes);

/// Of two if there is one output, which is the second's probability.
inline std::size_t classes_of(const NetworkOptions& network) {
  return network.outputs == 1 ? 2 : network.outputs;
}

}  // namespace kalstream
