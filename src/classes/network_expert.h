// A network with cross-entropy as an expert of a classifier.
#pragma once

#include <memory>

#include "classes/class_expert.h"
#include "kalstream/options.h"

namespace kalstream {

struct ClassNetworkPlan {
  NetworkOptions network;  ///< inputs and outputs are set by the expert
  Rule rule;
  double link_scale = 1;
  bool sees_inputs = true;
  std::size_t lags = 0;     ///< classes before that it sees
  std::size_t replays = 0;  ///< samples of the memory learnt again after each new one
};

std::unique_ptr<ClassExpert> make_network_expert(std::size_t inputs, std::size_t classes,
                                                 const ClassNetworkPlan& plan);

}  // namespace kalstream
