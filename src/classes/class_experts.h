// What the experts of `auto` for classes are.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "classes/class_expert.h"
#include "kalstream/options.h"
#include "trees/boosting.h"

namespace kalstream {

/// A network with cross-entropy.
struct ClassNetworkPlan {
  NetworkOptions network;  ///< inputs and outputs are set by the expert
  Rule rule;
  double link_scale = 1;
  bool sees_inputs = true;
  std::size_t lags = 0;     ///< classes before that it sees
  std::size_t replays = 0;  ///< samples of the memory learnt again after each new one
};

/// Logistic regression of many classes, with one covariance for the weights of all.
struct SoftmaxPlan {
  double variance = 4;  ///< of a weight beforehand
  double process_noise = 0;
  std::size_t lags = 0;  ///< classes before that it sees
};

/// The classes of the most similar samples in memory.
struct NeighboursPlan {};

/// Naive Bayes: inputs independent of each other given the class; those of few values by their
/// frequencies, others by a normal distribution.
struct BayesPlan {};

/// The frequencies of the classes.
struct FrequenciesPlan {};

/// Which class follows which.
struct SuccessionPlan {};

struct ClassExpertPlan {
  std::string name;
  std::variant<ClassNetworkPlan, SoftmaxPlan, BoostingPlan, Kernel, NeighboursPlan, BayesPlan,
               FrequenciesPlan, SuccessionPlan>
      what;
};

/// The experts for a stream of this kind: the most useful networks first, of which Auto::experts
/// may take fewer, then all that always take part. Names and memory follow from it.
std::vector<ClassExpertPlan> plan_class_experts(const Auto& options, const NetworkOptions& network);

/// The expert of a plan for so many inputs and classes.
using OwnedExpert = std::unique_ptr<ClassExpert>;
OwnedExpert make_class_expert(const ClassNetworkPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const BoostingPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const SoftmaxPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const Kernel&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const NeighboursPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const BayesPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const FrequenciesPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const SuccessionPlan&, std::size_t inputs, std::size_t classes);
OwnedExpert make_class_expert(const ClassExpertPlan&, std::size_t inputs, std::size_t classes);

/// Of two if there is one output, which is the second's probability.
inline std::size_t classes_of(const NetworkOptions& network) {
  return network.outputs == 1 ? 2 : network.outputs;
}

}  // namespace kalstream
