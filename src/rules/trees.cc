#include "kalstream/rules/trees.h"

#include "learner/parts.h"
#include "learner/trees_learner.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

// The samples in memory with their scores, and the trees.
Footprint footprint_of(const LearnerOptions& options, const Trees& rule) {
  const NetworkOptions network = network_inside(options);
  const auto inputs = static_cast<double>(network.inputs);
  const auto outputs = static_cast<double>(network.outputs);
  const double forest =
      static_cast<double>(rule.trees * rule.leaves) * (sizeof(TreeNode) + outputs * sizeof(double));
  const double sample = sizeof(double) * (inputs + 2 * outputs);
  return {.weights = rule.trees * rule.leaves * network.outputs,
          .bytes = forest + static_cast<double>(rule.memory) * sample};
}

}  // namespace

void Trees::validate() const { validate_rule(*this); }

const RuleInfo<Trees>& Trees::info() {
  static constexpr Permitted several_leaves{"in 2..128",
                                            [](double v) { return v >= 2 && v <= 128; }};
  static constexpr Permitted enough_memory{"in 32..1000000",
                                           [](double v) { return v >= 32 && v <= 1'000'000; }};
  static constexpr Permitted up_to_1{"above 0, at most 1",
                                     [](double v) { return v > 0 && v <= 1; }};
  static const RuleInfo<Trees> info{
      .learners = {{"trees", "boosted trees over the samples in memory, made anew one by one"}},
      .fields =
          [](Trees& o) {
            return Fields{
                {"trees", "their number", &o.trees, at_least_1},
                {"leaves", "of each tree, at most", &o.leaves, several_leaves},
                {"memory", "samples that trees are fitted to", &o.memory, enough_memory},
                {"every", "samples between two trees, once the memory is full", &o.every,
                 at_least_1},
                {"rate", "part of what is left that a new tree takes", &o.rate, up_to_1},
            };
          },
      .check_all =
          [](const LearnerOptions& o, const Trees&) {
            require(o.network.inputs + o.lags >= 1, "lags", "at least 1 without inputs");
          },
      .whole_learner = [](const LearnerOptions& o, const Trees& rule) -> std::unique_ptr<Learner> {
        const NetworkOptions network = network_inside(o);
        return make_lagged(
            std::make_unique<TreesLearner>(network.inputs, network.outputs, rule, network.seed),
            o.network.inputs, o.lags);
      },
      .footprint = footprint_of,
  };
  return info;
}

}  // namespace kalstream
