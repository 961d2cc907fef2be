#include "kalstream/rules/auto.h"

#include <algorithm>

#include "auto/auto_learner.h"
#include "auto/experts.h"
#include "auto/memory.h"
#include "auto/series/series.h"
#include "classes/auto_classifier.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

Fields fields(Auto& o) {
  static constexpr Permitted at_most_1000{"at most 1000", [](double v) { return v <= 1000; }};
  return {{"experts", "networks, the most useful first; 0: all", &o.experts},
          {"lags", "past targets the experts may look at", &o.lags, at_most_1000, "past_targets"},
          no_setting({"full_ekf", "full-EKF networks as well: auto-max", &o.full_ekf}),
          {"threads", "that share the experts", &o.threads, at_least_1}};
}

bool is_of_classes(const LearnerOptions& options) {
  return options.loss.kind == Loss::Kind::cross_entropy;
}

Footprint footprint_of(const LearnerOptions& options, const Auto& rule) {
  if (is_of_classes(options)) return footprint_of_classifier(rule, options.network);
  const auto n_d = static_cast<double>(options.network.outputs);
  Footprint total{.networks = 0};
  const auto plans = plan_experts(rule, options.network);
  for (const ExpertPlan& plan : plans) {
    if (!plan.has_network()) continue;  // says what it is shown, and holds nothing
    const Footprint one = footprint({.network = plan.network, .rule = plan.rule});
    total.weights = std::max(total.weights, one.weights);
    total.networks += one.networks;
    total.covariance_blocks += one.covariance_blocks;
    total.bytes += one.bytes;
    if (!plan.may_sleep) total.learnt_bytes += one.learnt_bytes;
  }
  const auto series = plan_series(rule, options.network);
  for (const SeriesPlan& plan : series) {  // made when they can be of use, so not yet learnt
    if (plan.kind == SeriesPlan::Kind::smoothing) total.bytes += n_d * 256 * sizeof(double);
    if (plan.kind != SeriesPlan::Kind::model || plan.needs_periods) continue;
    const Footprint one = footprint({.network = plan.network, .rule = plan.rule});
    total.bytes += n_d * one.bytes;
  }
  total.bytes += n_d * 2 * LongPast::capacity * sizeof(double);
  // Samples in memory, and for each output two covariances of the experts.
  const auto sample = static_cast<double>(options.network.inputs) + n_d;
  const double pasts = static_cast<double>(constants::memory_with_past) * static_cast<double>(rule.lags) * n_d;
  const auto experts = static_cast<double>(plans.size() + series.size());
  total.bytes += (static_cast<double>(constants::memory) * sample + pasts + 2 * n_d * experts * experts) *
                 sizeof(double);
  return total;
}

std::vector<std::string> expert_names_of(const LearnerOptions& options, const Auto& rule) {
  if (is_of_classes(options)) return names_in_classifier(rule, options.network);
  std::vector<std::string> names;
  for (ExpertPlan& plan : plan_experts(rule, options.network))
    names.push_back(std::move(plan.name));
  for (SeriesPlan& plan : plan_series(rule, options.network)) names.push_back(std::move(plan.name));
  return names;
}

void check_all(const LearnerOptions& options, const Auto& rule) {
  require(options.network.inputs + rule.lags >= 1, "lags", "at least 1 without inputs");
  NetworkOptions any = options.network;
  any.input_bias = true;  // without inputs there are past targets
  any.validate();
}

std::string remark(const LearnerOptions& options, const Auto& rule) {
  if (!rule.full_ekf || options.network.inputs > 0) return {};
  return "auto-max is the same as auto here: its full-EKF networks learn from inputs, and "
         "there are none";
}

}  // namespace

void Auto::validate() const { validate_rule(*this); }

const RuleInfo<Auto>& Auto::info() {
  static const RuleInfo<Auto> info{
      .learners = {{"auto",
                    "no tuning: many small experts of several kinds, blended; takes raw data"},
                   {"auto-max",
                    "the same with full-EKF networks: two, of classes four",
                    {.full_ekf = true}}},
      .which = [](const Auto& o) -> std::size_t { return o.full_ekf ? 1 : 0; },
      .fields = fields,
      .check_all = check_all,
      .remark = remark,
      .whole_learner = [](const LearnerOptions& o, const Auto& rule) -> std::unique_ptr<Learner> {
        if (is_of_classes(o)) return std::make_unique<AutoClassifier>(rule, o.network);
        return std::make_unique<AutoLearner>(rule, o.network);
      },
      .sees_past_targets = true,
      .takes_missing_inputs = true,
      .knows_classes = true,
      .network_settings = {{"hidden", "size: 16 is as measured, 32 doubles every network"},
                           {"window", "samples back-propagated through"}},
      .footprint = footprint_of,
      .expert_names = expert_names_of,
  };
  return info;
}

}  // namespace kalstream
