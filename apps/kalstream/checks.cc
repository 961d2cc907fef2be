#include "checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/memory_limit.h"
#include "eval/parallel.h"
#include "kalstream/settings.h"
#include "learner/footprint.h"
#include "schema/future.h"

namespace kalstream::cli {

void check_inputs(const Dataset& data, const std::vector<Contender>& contenders) {
  if (data.n_inputs() > 0) return;
  for (const Contender& c : contenders)
    if (c.options.lags == 0 && !sees_past_targets(c.options.rule))
      throw DataError(fmt::format(
          "{}: has no input columns (a constant 1 does not count), which {} needs; use --lags 8 to "
          "predict from past targets, or a learner that does so itself: auto, ar, naive; or check "
          "the separator",
          data.source, c.name));
}

void check_target_range(const Dataset& data, const std::vector<Contender>& contenders,
                        std::size_t steps) {
  for (const Contender& c : contenders) {
    if (c.scaled || takes_raw_data(c.options.rule) ||
        c.options.network.output_activation != OutputActivation::tanh)
      continue;
    for (std::size_t t = 0; t < std::min(steps, data.rows()); ++t)
      for (std::size_t k = 0; k < data.n_targets(); ++k)
        if (const double d = data.d(t)[k]; std::abs(d) > 1)
          throw DataError(fmt::format(
              "{}:{}: target {} in column \"{}\" is outside [-1,1], which the tanh output of {} "
              "cannot reach; let it be scaled (no --unscaled, or --scale with a preset), --set "
              "output=identity, or use --learner auto",
              data.source, data.lines.empty() ? t + 1 : data.lines[t], d, data.target_names[k],
              c.name));
  }
}

void check_is_for_auto(const std::string& option, const std::vector<Contender>& contenders) {
  for (const Contender& c : contenders)
    if (std::holds_alternative<Auto>(c.options.rule)) return;
  throw std::invalid_argument(
      fmt::format("{} is for auto and auto-max, and neither is among the learners", option));
}

void check_is_for_mixtures(const std::string& option, const std::vector<Contender>& contenders) {
  for (const Contender& c : contenders)
    if (!expert_names(c.options).empty()) return;
  throw std::invalid_argument(fmt::format(
      "{} is for learners that mix experts: auto, auto-max, alg2; none is among the learners",
      option));
}

void check_can_be_sustained(const Dataset& data) {
  const auto levels = decision_levels(data);
  for (std::size_t k = 0; k < levels.size(); ++k)
    if (std::isnan(levels[k]))
      throw DataError(fmt::format(
          "{}: --stop-when-sustained counts correct signs, or correct values of a target that has "
          "two; \"{}\" has more, all of one sign",
          data.source, data.target_names[k]));
}

void check_memory(const std::vector<Contender>& contenders, const Dataset& data, std::size_t seeds,
                  std::size_t jobs) {
  const std::unordered_set<std::string> keys(data.keys.begin(), data.keys.end());
  const auto models = static_cast<double>(std::max<std::size_t>(1, keys.size()));
  std::vector<std::pair<double, std::string>> needs;
  for (const Contender& c : contenders)
    needs.insert(needs.end(), seeds, {models * footprint(options_on(c, data)).bytes, c.name});
  std::sort(needs.rbegin(), needs.rend());
  const std::size_t at_once = std::min(needs.size(), jobs == 0 ? default_jobs() : jobs);
  double bytes = 0;
  for (std::size_t k = 0; k < at_once; ++k) bytes += needs[k].first;
  const auto machine = static_cast<double>(memory_allowed());
  constexpr double gib = 1 << 30;
  if (bytes <= 0.9 * machine) return;
  throw std::invalid_argument(fmt::format(
      "{} needs {:.1f} GiB{}, and {} runs at a time {:.1f} GiB, but this process may use {:.1f}; "
      "use fewer --hidden units, smaller blocks (--set partition=node){} or --jobs 1",
      needs.front().second, needs.front().first / gib,
      keys.empty() ? "" : fmt::format(" for its {} keys", keys.size()), at_once, bytes / gib,
      machine / gib, keys.empty() ? "" : ", a smaller learner such as rls,"));
}

Contender started(const std::string& start, std::unique_ptr<Learner> learner, const Dataset& data) {
  if (learner->inputs() != data.n_inputs() || learner->outputs() != data.n_targets())
    throw std::invalid_argument(fmt::format(
        "--start {}: the saved learner has {} inputs and {} targets, the data {} and {}", start,
        learner->inputs(), learner->outputs(), data.n_inputs(), data.n_targets()));
  const Recipe recipe = *learner->recipe();
  return {name_of(recipe.options.rule), recipe.options, recipe.scaled,
          std::make_shared<CalibratedLearner>(std::move(learner))};
}

ReadOptions read_options(const StreamSettings& settings, const std::vector<std::string>& columns,
                         const Schema& like) {
  ReadOptions options{.fields = settings.fields, .columns = columns, .like = like};
  options.fields.elapsed = settings.time.elapsed == "yes";
  return options;
}

std::string settle_elapsed(const TimeChoice& choice, bool has_start, Dataset& data) {
  if (has_elapsed(data.schema) || !choice.elapsed.empty() || has_start || data.times.empty())
    return {};
  const auto clocks = clocks_of(data);
  if (!std::ranges::all_of(clocks, [](const auto& c) { return c.second.is_irregular(); }))
    return {};
  add_elapsed(data);
  return "rows come at no regular times: the time since the row before is an input (--elapsed no: "
         "it is not)";
}

void check_something_to_predict(const Dataset& data, std::size_t steps, bool holds_inputs) {
  if (!data.labels.empty()) return;  // targets come on their own
  const double variance = target_variance(data, steps, holds_inputs);
  const std::string target = fmt::format("{}", fmt::join(data.target_names, ", "));
  if (std::isnan(variance))
    throw DataError(fmt::format(
        "{}: no row has all its inputs and its target ({}); choose other columns with --target, or "
        "fill the gaps",
        data.source, target));
  if (!(variance > 0))
    throw DataError(fmt::format(
        "{}: the target ({}) does not vary over the {} rows used, so there is nothing to predict; "
        "choose another column with --target",
        data.source, target, steps));
}

}  // namespace kalstream::cli
