// How many networks `auto` can afford.
#pragma once

#include <cstddef>
#include <functional>

#include "kalstream/learner.h"
#include "schema/dataset.h"

namespace kalstream {

/// Targets that depend on the inputs and on the past, with some noise: there is something to learn,
/// and gates open as often as on a real stream.
Dataset made_up_stream(std::size_t inputs, std::size_t outputs, std::size_t rows);

/// Microseconds a sample takes on this machine, for predict and learn: the median over short
/// stretches of a made-up stream of that size.
double measured_cost(const LearnerOptions& options);

struct ExpertChoice {
  std::size_t experts = 1;  ///< for Auto::experts
  std::size_t most = 1;     ///< networks there are
  double us = 0;            ///< what a sample costs with so many
  bool within = true;       ///< false: even one is above the budget
};

/// As many of Auto's networks as keep a sample within `budget_us`: from one on, until one more is
/// too many.
ExpertChoice choose_experts(
    LearnerOptions options, double budget_us,
    const std::function<double(const LearnerOptions&)>& cost = measured_cost);

}  // namespace kalstream
