#include "eval/timeline.h"

#include "core/finite.h"
#include "schema/future.h"

namespace kalstream {

std::optional<TimeStep> Timeline::step_at(std::size_t t) const {
  std::optional<TimeStep> step;
  for (const StepChange& change : steps)
    if (change.row <= t) step = change.step;
  return step;
}

std::unordered_map<std::string, Timeline> clocks_of(const Dataset& data) {
  std::unordered_map<std::string, Timeline> clocks;
  for (std::size_t t = 0; t < data.rows(); ++t) {
    Timeline& line = clocks[data.keys.empty() ? "" : data.keys[t]];
    if (data.ticks.empty() || !all_finite(data.x(t))) continue;
    if (data.ticks[t] == Dataset::no_moment)
      line.clock.take_undated();
    else
      line.clock.take(data.ticks[t], data.schema.time_form != TimeForm::number);
    if (line.clock.step() != line.step_at(t)) line.steps.push_back({t, line.clock.step()});
  }
  return clocks;
}

void add_elapsed(Dataset& data) {
  const std::size_t n_x = data.n_inputs();
  std::vector<double> wider;
  wider.reserve(data.rows() * (n_x + 1));
  for (std::size_t t = 0; t < data.rows(); ++t) {
    const auto x = data.x(t);
    wider.insert(wider.end(), x.begin(), x.end());
    wider.push_back(0);
  }
  data.inputs = std::move(wider);
  add_elapsed(data.schema);
  data.input_names = data.schema.input_names();
}

}  // namespace kalstream
