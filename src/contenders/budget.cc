#include "contenders/budget.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/rng.h"

namespace kalstream {

Dataset made_up_stream(std::size_t inputs, std::size_t outputs, std::size_t rows) {
  Dataset data;
  data.input_names.assign(inputs, "x");
  data.target_names.assign(outputs, "d");
  Rng rng(1);
  double memory = 0;
  for (std::size_t t = 0; t < rows; ++t) {
    double sum = inputs == 0 ? rng.normal() : 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      data.inputs.push_back(rng.normal());
      sum += data.inputs.back() * (k % 2 == 0 ? 1 : -1);
    }
    memory = 0.7 * memory + sum / std::sqrt(static_cast<double>(std::max<std::size_t>(inputs, 1)));
    for (std::size_t k = 0; k < outputs; ++k)
      data.targets.push_back(0.8 *
                             std::tanh(0.5 * memory * (k % 2 == 0 ? 1 : -1) + 0.2 * rng.normal()));
  }
  return data;
}

double measured_cost(const LearnerOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t first = 70;  // samples; until then auto starts over again and again
  constexpr std::size_t stretches = 9;
  constexpr std::size_t rows = 1000;
  constexpr auto stretch = std::chrono::milliseconds(2);
  const Dataset data = made_up_stream(options.network.inputs, options.network.outputs, rows);
  const auto learner = make_learner(options);
  std::size_t next = 0;
  const auto step = [&] {
    const std::size_t t = next++ % rows;
    learner->predict(data.x(t));
    learner->learn(data.x(t), data.d(t));
  };
  while (next < first) step();

  std::vector<double> us;
  while (us.size() < stretches) {
    const auto start = Clock::now();
    const std::size_t before = next;
    Clock::duration taken{};
    while (taken < stretch) {
      step();
      taken = Clock::now() - start;
    }
    us.push_back(std::chrono::duration<double, std::micro>(taken).count() /
                 static_cast<double>(next - before));
  }
  const auto middle = us.begin() + stretches / 2;
  std::ranges::nth_element(us, middle);
  return *middle;
}

ExpertChoice choose_experts(LearnerOptions options, double budget_us,
                            const std::function<double(const LearnerOptions&)>& cost) {
  auto& rule = std::get<Auto>(options.rule);
  const auto with = [&](std::size_t experts) {
    rule.experts = experts;
    return options;
  };
  const std::size_t all = expert_names(with(0)).size();
  ExpertChoice choice;
  while (expert_names(with(choice.most)).size() < all) ++choice.most;

  choice.us = cost(with(1));
  choice.within = choice.us <= budget_us;
  while (choice.within && choice.experts < choice.most) {
    const double us = cost(with(choice.experts + 1));
    if (us > budget_us) break;
    ++choice.experts;
    choice.us = us;
  }
  return choice;
}

}  // namespace kalstream
